import { z } from 'zod'
import { rememberScopes } from './choices.ts'
import type { Policy } from './part.ts'

export const resolutionOutcomes = ['granted', 'declined'] as const

/**
 * How a requirement of the agent was decided; the gateway has checked it against its own store (MN-7.2). `in_reply_to_state` is what
 * `context.require…()` named; at rest it is the SHA-256 of that. All else is ours.
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
  /** Time of the decision, ISO 8601 UTC. */
  resolved_at: z.string().optional(),
  /** The kind of decision (`link`, `principal`, `receipt`, `operator`), and who made it, if known. */
  resolver: z
    .object({
      /** The kind of decision. */
      method: z.string(),
      /** Who decided it. */
      subject: z.string().optional(),
    })
    .optional(),
  /** Of a payment: who confirms it, and by which reference. */
  receipt: z
    .object({
      /** Who confirms the payment. */
      provider: z.string(),
      /** The provider's reference. */
      reference: z.string(),
    })
    .optional(),
  /** Of a call that an operator has allowed with other arguments: these. */
  args: z.unknown().optional(),
  /** Of a call: how far the decision counts for later ones. */
  remember: z.enum(rememberScopes).optional(),
  /** Who decided, if it was not the sender. */
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
