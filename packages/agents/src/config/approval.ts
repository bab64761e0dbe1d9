import { approvers, rememberScopes } from '@postern/core'
import { z } from 'zod'

const policySchema = z.enum(['direct', 'preview', 'forbidden'])
const ruleSchema = z.strictObject({
  /** `direct`: the tool runs when the model calls it; `preview`: after somebody has allowed the call; `forbidden`: never, and no model knows of it. */
  policy: policySchema,
  /** Who may allow a call: the sender of the message, or an operator. */
  approve: z.enum(approvers).default('sender'),
  /** A mailbox that gets mail when an operator must decide. */
  notify: z.email().optional(),
  /** How long a call waits to be allowed; default: `requirements.expires_after_hours`. */
  expires_after_hours: z
    .number()
    .min(1 / 60)
    .max(30 * 24)
    .optional(),
  /** How far a decision may count for later calls. */
  remember: z.enum(['none', ...rememberScopes]).default('always'),
  /** For how many days such a decision counts. */
  remember_days: z.number().int().min(1).max(365).default(30),
})

/** Which tools run at once, by name; those that are not named do. */
export const toolPolicyShape = {
  /** Which tools run at once, by name; default: all. */
  tool_policies: z
    .record(z.string(), z.union([policySchema.transform(policy => ruleSchema.parse({ policy })), ruleSchema]))
    .default({}),
}

export type ToolRule = z.output<typeof ruleSchema>
export type ToolRules = Readonly<Record<string, ToolRule>>
