// Describes the decisions that an agent can require: consent, a payment or better proof of identity.
import type { PartialResponse } from '@postern/message'
import { approvers, policySchema, refusalKinds } from '@postern/message'
import { z } from 'zod'

const wordsSchema = policySchema
  .pick({ code: true, title: true, message_translations: true, data: true, url: true, action_label: true })
  .extend({ message: z.string().min(1) })

const requirementSchema = wordsSchema.extend({
  /** The seconds until the decision is due; default: the configured value. */
  expires_in: z
    .number()
    .min(60)
    .max(30 * 86_400)
    .optional(),
})

export const consentSchema = requirementSchema.extend({
  /** The approver; default: the sender. */
  approver: z.enum(approvers).optional(),
  /** The text for the sender while an operator decides, because only the operator reads `message`; default: a sentence that asks them to wait. */
  sender_message: z.string().min(1).optional(),
  /** A mailbox that gets the question if an operator decides; it has to be in `email.write_to`. */
  notify: z.email().optional(),
})

/** A price as a decimal number in text, because binary fractions cannot represent money exactly. */
export const priceSchema = z.object({
  /** The price, a decimal number as text: `4.50`. */
  amount: z.string().regex(/^\d{1,12}(\.\d{1,8})?$/, 'must be a decimal number as text, such as "4.50"'),
  /** Its currency, three capital letters (ISO 4217). */
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be three capital letters (ISO 4217)'),
})

export const paymentSchema = requirementSchema.extend(priceSchema.shape)

export const authSchema = requirementSchema.extend({ auth_challenges: policySchema.shape.auth_challenges })

export const refusalSchema = wordsSchema.extend({
  kind: z.enum(refusalKinds).default('forbidden'),
  retry_after_seconds: policySchema.shape.retry_after_seconds,
})

export type ConsentRequirement = z.input<typeof consentSchema>

type PaymentRequirement = z.input<typeof paymentSchema>

type AuthRequirement = z.input<typeof authSchema>

type RefusalWords = z.input<typeof refusalSchema>

/**
 * The requirements that an agent can make before it continues. Each function returns a response, which the agent then returns or yields; without
 * that the requirement has no effect.
 */
export interface AgentRequirements {
  /**
   * Requires a consent. It comes from the sender, by a link that is sent to them, or over A2A from the caller. With `approver` it comes from an
   * operator.
   */
  requireConsent(requirement: ConsentRequirement): PartialResponse
  /** Requires a receipt of the gateway's payment provider. */
  requirePayment(requirement: PaymentRequirement): PartialResponse
  /** Requires better evidence of the sender's identity. */
  requireAuth(requirement: AuthRequirement): PartialResponse
  /** Refuses the message, with the reason. */
  refuse(refusal: RefusalWords): PartialResponse
}
