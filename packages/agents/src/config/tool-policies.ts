// Declares `tool_policies`: which tool calls run at once, which need approval, and which never run.
import { approvers, rememberScopes } from '@postern/message'
import { z } from 'zod'

/** The policies of a tool call, which `toolRuleSchema` explains. */
const toolPolicySchema = z.enum(['direct', 'preview', 'forbidden'])

/** One rule on the calls of a tool. */
export const toolRuleSchema = z.strictObject({
  /** A JSON Schema of the arguments: the first rule whose schema they match applies; default: all arguments match. */
  when: z.record(z.string(), z.unknown()).optional(),
  /** The tool runs when the model calls it (`direct`), after somebody has approved the call (`preview`), or never (`forbidden`). */
  policy: toolPolicySchema,
  /** The party that may allow a call: the sender of the message, or an operator. */
  approve: z.enum(approvers).default('sender'),
  /** A mailbox that gets mail when an operator must decide. */
  notify: z.email().optional(),
  /** The number of hours for which a call waits for approval; default: `requirements.expires_after_hours`. */
  expires_after_hours: z
    .number()
    .min(1 / 60)
    .max(30 * 24)
    .optional(),
  /** The later calls to which a decision also applies. */
  remember: z.enum(['none', ...rememberScopes]).default('always'),
  /** The number of days for which a decision also applies to later calls. */
  remember_days: z.number().int().min(1).max(365).default(30),
})

/** The maximum number of rules of one tool. */
const maxRules = 32

/** The key `tool_policies` of an agent's configuration. */
export const toolPolicyShape = {
  /** The policies of tools, by name; default: all tools run at once. */
  tool_policies: z
    .record(
      z.string(),
      z.union([
        toolPolicySchema.transform(policy => toolRuleSchema.parse({ policy })),
        toolRuleSchema,
        z.array(toolRuleSchema).min(1).max(maxRules),
      ]),
    )
    .default({}),
}

export type ToolRule = z.output<typeof toolRuleSchema>
export type ToolPolicies = Readonly<Record<string, ToolRule | readonly ToolRule[]>>
