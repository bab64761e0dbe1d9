import { z } from 'zod'
import { rememberScopes } from './approval.ts'

export const resolutionOutcomes = ['granted', 'declined'] as const

/**
 * How a requirement of the agent was decided; the gateway has checked it against its own store (MN-7.2). `in_reply_to_state` is what
 * `context.require…()` named; at rest it is the SHA-256 of that. All else is ours.
 */
export const policyResolutionSchema = z.looseObject({
  in_reply_to_state: z.string(),
  /** The public id of the requirement. */
  requirement: z.string().optional(),
  kind: z.string().optional(),
  outcome: z.enum(resolutionOutcomes).optional(),
  /** ISO 8601 UTC. */
  resolved_at: z.string().optional(),
  /** How it was decided (`link`, `principal`, `receipt`, `operator`), and by whom, where that is known. */
  resolver: z.object({ method: z.string(), subject: z.string().optional() }).optional(),
  /** Of a payment: who vouches for it, and by which reference. */
  receipt: z.object({ provider: z.string(), reference: z.string() }).optional(),
  /** Of a call that an operator has allowed with other arguments: these. */
  args: z.unknown().optional(),
  /** Of a call: how far the decision counts for later ones. */
  remember: z.enum(rememberScopes).optional(),
  /** Whose word it was, where it was not the sender's. */
  approver: z.literal('operator').optional(),
  /** As the requirement had them. */
  code: z.string().optional(),
  data: z.record(z.string(), z.unknown()).optional(),
})

export type PolicyResolution = z.infer<typeof policyResolutionSchema>
export type ResolutionOutcome = (typeof resolutionOutcomes)[number]
