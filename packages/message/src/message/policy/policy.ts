// Describes decisions on the requirements of agents, and the tool calls that wait for approval.
import { z } from 'zod'
import type { Policy } from '../part.ts'
import { rememberScopes } from './remember-scope.ts'

export const resolutionOutcomes = ['granted', 'declined'] as const

/**
 * The decision on a requirement of the agent, which the gateway has checked against its own store (MN-7.2). `in_reply_to_state` is the state that
 * `context.require…()` returned; the store contains only its SHA-256. All other members are ours.
 */
export const policyResolutionSchema = z.looseObject({
  /** The state of the requirement; the store contains its SHA-256 instead. */
  in_reply_to_state: z.string(),
  /** Public id of the requirement. */
  requirement: z.string().optional(),
  /** Kind of the requirement. */
  kind: z.string().optional(),
  /** The decision. */
  outcome: z.enum(resolutionOutcomes).optional(),
  /** True if nobody declined: the question was closed, or its time ran out. */
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
  /** The changed arguments with which an operator allowed a call. */
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

/** The `code` of a requirement that asks somebody to allow a tool call. */
const approvalCode = 'approval:required'

/** The error of a call that was not allowed. */
export const refusedCall = 'It was not allowed.'

/** The error of a call that an earlier decision forbids, so that nobody is asked. */
export const refusedForGood =
  'It was not allowed: it was refused before, for all such calls, and nobody is asked again.'

/** Names the member of a policy's `data` that describes its call. */
const approvalMember = 'dev.postern.action'

/** A tool call as its approver sees it. It has only the names of the arguments; `preview` explains them. */
const approvalActionSchema = z.object({
  action_id: z.string(),
  /** The tool. */
  kind: z.string(),
  summary: z.string(),
  preview: z.unknown(),
  arguments: z.array(z.string()),
  tool_call_id: z.string(),
  /** The agent that wants to make the call, if several agents share an address. */
  agent: z.string().optional(),
  /** The later calls for which a decision can count, and for how many days; absent if it counts only once. */
  remember: z
    .object({
      scopes: z.array(z.enum(rememberScopes)),
      days: z.number(),
      /** Names the calls for which it can count, those with arguments of one kind; absent for all calls of the tool. */
      calls: z.string().optional(),
    })
    .optional(),
})

export type ApprovalAction = z.infer<typeof approvalActionSchema>

/** Returns the `code` and `data` of a call, for `requireConsent`. */
export function describeApproval(action: ApprovalAction): {
  readonly code: string
  readonly data: Record<string, unknown>
} {
  return { code: approvalCode, data: { [approvalMember]: action } }
}

/** Reads the call that a requirement, or the decision on it, is about; undefined if it is about something else. */
export function readApproval({ code, data }: Pick<Policy, 'code' | 'data'>): ApprovalAction | undefined {
  return code === approvalCode ? approvalActionSchema.safeParse(data?.[approvalMember]).data : undefined
}
