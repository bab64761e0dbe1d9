import { approvers } from '@postern/core'
import { z } from 'zod'

const policySchema = z.enum(['direct', 'preview', 'forbidden'])
const ruleSchema = z.strictObject({
  /** `direct`: it runs when the model calls it. `preview`: once somebody has allowed the call. `forbidden`: never, and no model knows of it. */
  policy: policySchema,
  /** Who may allow it: the one the agent is talking to, or an operator. */
  approve: z.enum(approvers).default('sender'),
  /** A mailbox that is told when an operator has to decide. */
  notify: z.email().optional(),
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
    .record(
      z.string(),
      z.union([policySchema.transform(policy => ({ policy, approve: 'sender' as const })), ruleSchema]),
    )
    .default({}),
}

export type ToolRule = z.output<typeof ruleSchema>
export type ToolRules = Readonly<Record<string, ToolRule>>
