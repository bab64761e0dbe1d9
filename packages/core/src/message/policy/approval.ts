import { z } from 'zod'
import type { Policy } from '../part.ts'
import { rememberScopes } from './remember-scope.ts'

/** The `code` of a requirement that waits for somebody to allow a call of a tool. */
const approvalCode = 'approval:required'

/** The end of a call that was not allowed. */
export const refusedCall = 'It was not allowed.'

/** The end of a call that was refused before it was made. */
export const refusedForGood =
  'It was not allowed: it was refused before, for all such calls, and nobody is asked again.'

/** Where a policy's `data` says which call it is about. */
export const approvalMember = 'dev.postern.action'

/** What a tool is to do, as far as whoever decides is shown it. Arguments are named; what they are stands in `preview`. */
const approvalActionSchema = z.object({
  action_id: z.string(),
  /** The tool. */
  kind: z.string(),
  summary: z.string(),
  preview: z.unknown(),
  arguments: z.array(z.string()),
  tool_call_id: z.string(),
  /** Which of several agents behind one address wants it. */
  agent: z.string().optional(),
  /** How far a decision can be made to count, and for how long; absent: this once. */
  remember: z.object({ scopes: z.array(z.enum(rememberScopes)), days: z.number() }).optional(),
})

export type ApprovalAction = z.infer<typeof approvalActionSchema>

/** For `requireConsent`. */
export function describeApproval(action: ApprovalAction): {
  readonly code: string
  readonly data: Record<string, unknown>
} {
  return { code: approvalCode, data: { [approvalMember]: action } }
}

/** The call that a requirement, or the decision on it, is about; undefined when it is about something else. */
export function readApproval({ code, data }: Pick<Policy, 'code' | 'data'>): ApprovalAction | undefined {
  return code === approvalCode ? approvalActionSchema.safeParse(data?.[approvalMember]).data : undefined
}
