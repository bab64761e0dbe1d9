import { z } from 'zod'
import { rememberScopes } from './remember-scope.ts'

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
