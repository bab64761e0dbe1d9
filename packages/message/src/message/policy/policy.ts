// Describes the decisions of people on what an agent requires, and the calls that wait for approval.
import { z } from 'zod'
import type { Policy } from '../part.ts'
import { rememberScopes } from './remember-scope.ts'

export const resolutionOutcomes = ['granted', 'declined'] as const

/**
 * The decision on a requirement of the agent; the gateway has checked it against its own store (MN-7.2). `in_reply_to_state` is the state that
 * `context.require…()` named; at rest it is the SHA-256 of that. All other members are ours.
 */
export const policyResolutionSchema = z.looseObject({
  /** The state of the requirement; at rest it is its SHA-256. */
  in_reply_to_state: z.string(),
  /** Public id of the requirement. */
  requirement: z.string().optional(),
  /** Kind of the requirement. */
  kind: z.string().optional(),
  /** The decision. */
  outcome: z.enum(resolutionOutcomes).optional(),
  /** True if nobody said no: the question was closed, or its time is over. */
  cancelled: z.literal(true).optional(),
  /** Time of the decision, ISO 8601 UTC. */
  resolved_at: z.string().optional(),
  /** The kind of decision (`link`, `principal`, `receipt`, `operator`), and who made it, if known. */
  resolver: z
    .object({
      /** The kind of decision. */
      method: z.string(),
      /** The person who decided it. */
      subject: z.string().optional(),
    })
    .optional(),
  /** The confirmation of a payment, with its reference. */
  receipt: z
    .object({
      /** The provider that confirms the payment. */
      provider: z.string(),
      /** The provider's reference. */
      reference: z.string(),
    })
    .optional(),
  /** The other arguments with which an operator has allowed a call. */
  args: z.unknown().optional(),
  /** The later calls for which a decision on a call counts. */
  remember: z.enum(rememberScopes).optional(),
  /** The approver, if it was not the sender. */
  approver: z.literal('operator').optional(),
  /** The requirement's `code`. */
  code: z.string().optional(),
  /** The requirement's `data`. */
  data: z.record(z.string(), z.unknown()).optional(),
})

export type PolicyResolution = z.infer<typeof policyResolutionSchema>
export type ResolutionOutcome = (typeof resolutionOutcomes)[number]

/** The `code` of a requirement that waits for somebody to allow a call of a tool. */
const approvalCode = 'approval:required'

/** The end of a call that was not allowed. */
export const refusedCall = 'It was not allowed.'

/** The end of a call that was refused before it was made. */
export const refusedForGood =
  'It was not allowed: it was refused before, for all such calls, and nobody is asked again.'

/** Names the member of a policy's `data` that describes its call. */
const approvalMember = 'dev.postern.action'

/** A call of a tool, as far as its approver sees it. Arguments are named; `preview` explains them. */
const approvalActionSchema = z.object({
  action_id: z.string(),
  /** The tool. */
  kind: z.string(),
  summary: z.string(),
  preview: z.unknown(),
  arguments: z.array(z.string()),
  tool_call_id: z.string(),
  /** The one of several agents behind an address that wants it. */
  agent: z.string().optional(),
  /** The later calls for which a decision can count, and the time for which it does; absent: this once. */
  remember: z
    .object({
      scopes: z.array(z.enum(rememberScopes)),
      days: z.number(),
      /** Names the calls for which it can: those with arguments of this kind; absent: all of the tool. */
      calls: z.string().optional(),
    })
    .optional(),
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
