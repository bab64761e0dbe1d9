import type { Policy } from '../message/part.ts'
import type { RequirementKind } from '../message/policy/policy-kinds.ts'
import { statusWithPolicies } from '../message/policy/policy-kinds.ts'
import type { PartialResponse } from '../message/response.ts'
import type { AgentRequirements, ConsentRequirement } from '../ports/agent/agent-requirements.ts'
import { authSchema, consentSchema, paymentSchema, refusalSchema } from '../ports/agent/agent-requirements.ts'
import type { Platform } from '../ports/platform/platform.ts'
import { isoTime, randomHex } from '../ports/platform/platform.ts'
import type { RequirementDeps } from '../ports/requirement-store.ts'

/** Requirements of one turn that have a state, by it; nothing is stored of them yet. */
export interface RequirementList extends AgentRequirements {
  readonly issued: ReadonlyMap<string, string>
}

/** `gateway`: absent where no decision is possible. */
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
