import { z } from 'zod'
import { policySchema } from '../../message/part.ts'
import type { PartialResponse } from '../../message/response.ts'
import { approvers, refusalKinds } from '../../message/response.ts'

const wordsSchema = policySchema
  .pick({ code: true, title: true, message_translations: true, data: true, url: true, action_label: true })
  .extend({ message: z.string().min(1) })

const requirementSchema = wordsSchema.extend({
  /** Seconds until the decision is due; default: the configuration's value. */
  expires_in: z
    .number()
    .min(60)
    .max(30 * 86_400)
    .optional(),
})

export const consentSchema = requirementSchema.extend({
  /** Who may approve; default: the sender. */
  approver: z.enum(approvers).optional(),
  /** A mailbox that is told when an operator is to decide; it has to be in `email.write_to`. */
  notify: z.email().optional(),
})

/** Decimal, as text: binary fractions are no money. */
export const priceSchema = z.object({
  amount: z.string().regex(/^\d{1,12}(\.\d{1,8})?$/, 'must be a decimal number as text, such as "4.50"'),
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
 * The requirements that an agent can make before it continues: each gives the response to return or to yield. A
 * requirement that is not returned has no effect.
 */
export interface AgentRequirements {
  /**
   * A yes. It comes from the sender, by a link sent to them, or over A2A from the caller. With `approver` it comes from
   * an operator.
   */
  requireConsent(requirement: ConsentRequirement): PartialResponse
  /** A receipt of the gateway's payment provider. */
  requirePayment(requirement: PaymentRequirement): PartialResponse
  /** Better evidence of who the sender is. */
  requireAuth(requirement: AuthRequirement): PartialResponse
  /** No, and why. */
  refuse(refusal: RefusalWords): PartialResponse
}
