import { z } from 'zod'
import { approvers } from './approver.ts'
import type { Policy } from './part.ts'
import { policySchema } from './part.ts'
import type { Platform } from './platform.ts'
import { isoTime, randomHex } from './platform.ts'
import type { RequirementKind } from './policy-kinds.ts'
import { refusalKinds, statusWithPolicies } from './policy-kinds.ts'
import type { RequirementDeps } from './requirement.ts'
import type { PartialResponse } from './response.ts'

const wordsSchema = policySchema
  .pick({ code: true, title: true, message_translations: true, data: true, url: true, action_label: true })
  .extend({ message: z.string().min(1) })
const requirementSchema = wordsSchema.extend({
  /** Seconds it can be decided; default: what the configuration says. */
  expires_in: z
    .number()
    .min(60)
    .max(30 * 86_400)
    .optional(),
})
const consentSchema = requirementSchema.extend({
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
const paymentSchema = requirementSchema.extend(priceSchema.shape)
const authSchema = requirementSchema.extend({ auth_challenges: policySchema.shape.auth_challenges })
const refusalSchema = wordsSchema.extend({
  kind: z.enum(refusalKinds).default('forbidden'),
  retry_after_seconds: policySchema.shape.retry_after_seconds,
})

type ConsentRequirement = z.input<typeof consentSchema>
type PaymentRequirement = z.input<typeof paymentSchema>
type AuthRequirement = z.input<typeof authSchema>
type RefusalWords = z.input<typeof refusalSchema>

/** What an agent can require before it goes on: each gives the response to return or to yield. What is not returned was never required. */
export interface AgentRequirements {
  /** A yes: the sender's, by a link sent to him or, over A2A, by the caller himself; or an operator's (`approver`). */
  requireConsent(requirement: ConsentRequirement): PartialResponse
  /** A receipt of the gateway's payment provider. */
  requirePayment(requirement: PaymentRequirement): PartialResponse
  /** Better evidence of who the sender is. */
  requireAuth(requirement: AuthRequirement): PartialResponse
  /** No, and why. */
  refuse(refusal: RefusalWords): PartialResponse
}

/** Requirements of one turn that have a state, by it; nothing is stored of them yet. */
export interface RequirementList extends AgentRequirements {
  readonly issued: ReadonlyMap<string, string>
}

/** `house`: absent where nobody could decide anything. */
export function createRequirementList(
  gateway: RequirementDeps | undefined,
  platform: Pick<Platform, 'randomBytes' | 'now'>,
): RequirementList {
  const issued = new Map<string, string>()
  function issue(kind: RequirementKind, { expires_in, ...words }: ConsentRequirement) {
    if (!gateway) throw new Error('Cannot require: nothing can be decided here')
    const id = randomHex(platform, 16)
    const state = gateway.stateOf(id)
    issued.set(state, id)
    const lasts = expires_in === undefined ? gateway.ttlMs : expires_in * 1000
    const expires_at = isoTime(platform.now() + lasts)
    return respond({ kind, url: actionUrl(gateway, state), ...words, state, requirement: id, expires_at })
  }
  return {
    issued,
    requireConsent: requirement => issue('consent_required', consentSchema.parse(requirement)),
    requirePayment: requirement => issue('payment_required', paymentSchema.parse(requirement)),
    requireAuth: requirement => issue('unauthorized', authSchema.parse(requirement)),
    refuse: refusal => respond(refusalSchema.parse(refusal)),
  }
}

/** Where a person decides. */
export function actionUrl({ origin }: Pick<RequirementDeps, 'origin'>, state: string): string {
  return `${origin}/actions/${state}`
}

function respond(policy: Policy): PartialResponse {
  const parts: PartialResponse['parts'] = [{ kind: 'policy', policy }]
  return { parts, status: statusWithPolicies(parts, undefined) }
}
