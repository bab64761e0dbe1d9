// Declares `tool_policies`: which tool calls run at once, which need approval, and which never run.
import { approvers, rememberScopes } from '@postern/message'
import { z } from 'zod'

const policySchema = z.enum(['direct', 'preview', 'forbidden'])
/** One rule on the calls of a tool. */
export const toolRuleSchema = z.strictObject({
  /** JSON Schema of arguments: the first entry that they fit counts; default: all arguments fit. */
  when: z.record(z.string(), z.unknown()).optional(),
  /** `direct`: the tool runs when the model calls it; `preview`: after somebody has allowed the call; `forbidden`: never. */
  policy: policySchema,
  /** The party that may allow a call: the sender of the message, or an operator. */
  approve: z.enum(approvers).default('sender'),
  /** A mailbox that gets mail when an operator must decide. */
  notify: z.email().optional(),
  /** Hours for which a call waits to be allowed; default: `requirements.expires_after_hours`. */
  expires_after_hours: z
    .number()
    .min(1 / 60)
    .max(30 * 24)
    .optional(),
  /** Reach of a decision for later calls. */
  remember: z.enum(['none', ...rememberScopes]).default('always'),
  /** Days for which such a decision counts. */
  remember_days: z.number().int().min(1).max(365).default(30),
})

/** The maximum number of rules of one tool. */
const maxRules = 32

/** The policies of tools by name; a tool without one runs at once. */
export const toolPolicyShape = {
  /** Policies of tools, by name; default: all run at once. */
  tool_policies: z
    .record(
      z.string(),
      z.union([
        policySchema.transform(policy => toolRuleSchema.parse({ policy })),
        toolRuleSchema,
        z.array(toolRuleSchema).min(1).max(maxRules),
      ]),
    )
    .default({}),
}

export type ToolRule = z.output<typeof toolRuleSchema>
export type ToolPolicies = Readonly<Record<string, ToolRule | readonly ToolRule[]>>
