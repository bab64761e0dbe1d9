import { z } from 'zod'

const policySchema = z.enum(['direct', 'preview', 'forbidden'])
const ruleSchema = z.strictObject({
  /** `direct`: it runs when the model calls it. `preview`: once the sender has allowed the call. `forbidden`: never, and no model knows of it. */
  policy: policySchema,
  /** How long a call waits to be allowed; default: `demands.expires_after_hours`. */
  expires_after_hours: z
    .number()
    .min(1 / 60)
    .max(30 * 24)
    .optional(),
})

/** Which tools run at once, by name; those that are not named do. */
export const toolPolicyShape = {
  tool_policies: z
    .record(z.string(), z.union([policySchema.transform(policy => ({ policy })), ruleSchema]))
    .default({}),
}

export type ToolRule = z.output<typeof ruleSchema>
export type ToolRules = Readonly<Record<string, ToolRule>>
