import { z } from 'zod'
import { approvers } from './approver.ts'
import type { DemandHouse } from './demand.ts'
import type { Policy } from './part.ts'
import { policySchema } from './part.ts'
import type { DemandKind } from './policy-kinds.ts'
import { refusalKinds, statusWithPolicies } from './policy-kinds.ts'
import type { PartialResponse } from './response.ts'
import type { World } from './world.ts'
import { isoTime, randomHex } from './world.ts'

const wordsSchema = policySchema
  .pick({ code: true, title: true, message_translations: true, data: true, url: true, action_label: true })
  .extend({ message: z.string().min(1) })
const demandSchema = wordsSchema.extend({
  /** Seconds it can be decided; default: what the configuration says. */
  expires_in: z
    .number()
    .min(60)
    .max(30 * 86_400)
    .optional(),
})
const consentSchema = demandSchema.extend({
  /** Who may say yes; default: the sender. */
  approver: z.enum(approvers).optional(),
  /** A mailbox that is told when an operator is to decide; it has to be in `email.write_to`. */
  notify: z.email().optional(),
})
/** Decimal, as text: binary fractions are no money. */
export const priceSchema = z.object({
  amount: z.string().regex(/^\d{1,12}(\.\d{1,8})?$/, 'must be a decimal number as text, such as "4.50"'),
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be three capital letters (ISO 4217)'),
})
const paymentSchema = demandSchema.extend(priceSchema.shape)
const authSchema = demandSchema.extend({ auth_challenges: policySchema.shape.auth_challenges })
const refusalSchema = wordsSchema.extend({
  kind: z.enum(refusalKinds).default('forbidden'),
  retry_after_seconds: policySchema.shape.retry_after_seconds,
})

export type ConsentDemand = z.input<typeof consentSchema>
export type PaymentDemand = z.input<typeof paymentSchema>
export type AuthDemand = z.input<typeof authSchema>
export type RefusalWords = z.input<typeof refusalSchema>

/** What an agent can demand before it goes on: each gives the response to return or to yield. What is not returned was never demanded. */
export interface AgentDemands {
  /** A yes: the sender's, by a link sent to him or, over A2A, by the caller himself; or an operator's (`approver`). */
  requireConsent(demand: ConsentDemand): PartialResponse
  /** A receipt of the house's payment provider. */
  requirePayment(demand: PaymentDemand): PartialResponse
  /** Better evidence of who the sender is. */
  requireAuth(demand: AuthDemand): PartialResponse
  /** No, and why. */
  refuse(refusal: RefusalWords): PartialResponse
}

/** Demands of one turn that have a state, by it; nothing is stored of them yet. */
export interface DemandList extends AgentDemands {
  readonly issued: ReadonlyMap<string, string>
}

/** `house`: absent where nobody could decide anything. */
export function createDemandList(
  house: DemandHouse | undefined,
  world: Pick<World, 'randomBytes' | 'now'>,
): DemandList {
  const issued = new Map<string, string>()
  function issue(kind: DemandKind, { expires_in, ...words }: ConsentDemand) {
    if (!house) throw new Error('Cannot demand: nothing can be decided here')
    const id = randomHex(world, 16)
    const state = house.stateOf(id)
    issued.set(state, id)
    const lasts = expires_in === undefined ? house.ttlMs : expires_in * 1000
    const expires_at = isoTime(world.now() + lasts)
    return respond({ kind, url: actionUrl(house, state), ...words, state, demand: id, expires_at })
  }
  return {
    issued,
    requireConsent: demand => issue('consent_required', consentSchema.parse(demand)),
    requirePayment: demand => issue('payment_required', paymentSchema.parse(demand)),
    requireAuth: demand => issue('unauthorized', authSchema.parse(demand)),
    refuse: refusal => respond(refusalSchema.parse(refusal)),
  }
}

/** Where a person decides. */
export function actionUrl({ origin }: Pick<DemandHouse, 'origin'>, state: string): string {
  return `${origin}/actions/${state}`
}

function respond(policy: Policy): PartialResponse {
  const parts: PartialResponse['parts'] = [{ kind: 'policy', policy }]
  return { parts, status: statusWithPolicies(parts, undefined) }
}
