import type { Part, Policy } from '../part.ts'
import type { ResponseStatus } from '../response.ts'

/** What somebody can decide, so that the agent goes on. */
export const requirementKinds = ['consent_required', 'payment_required', 'unauthorized'] as const
export type RequirementKind = (typeof requirementKinds)[number]

/** What nobody can decide; the agent will not. */
export const refusalKinds = [
  'forbidden',
  'too_many_requests',
  'unavailable_for_legal_reasons',
  'service_unavailable',
] as const
export type RefusalKind = (typeof refusalKinds)[number]

const statuses: Readonly<Record<RequirementKind | RefusalKind, ResponseStatus>> = {
  consent_required: 'input_required',
  payment_required: 'input_required',
  unauthorized: 'auth_required',
  forbidden: 'rejected',
  too_many_requests: 'rejected',
  unavailable_for_legal_reasons: 'rejected',
  service_unavailable: 'rejected',
}

export function isRequirementKind(kind: string): kind is RequirementKind {
  return requirementKinds.some(known => known === kind)
}

export function policiesOf(parts: readonly Part[]): readonly Policy[] {
  return parts.flatMap(part => (part.kind === 'policy' ? [part.policy] : []))
}

/** What can be decided is open whatever its agent says; a requirement or refusal is never success, one of an unknown kind neither (MN-7.1). */
export function statusWithPolicies(
  parts: readonly Part[],
  status: ResponseStatus | undefined,
): ResponseStatus | undefined {
  const kinds = policiesOf(parts).map(({ kind }) => kind)
  const decisive = kinds.find(isRequirementKind) ?? kinds[0]
  if (decisive === undefined) return status
  const isOpen = isRequirementKind(decisive) || status === undefined || status === 'completed'
  return isOpen ? statusOf(decisive) : status
}

function statusOf(kind: string): ResponseStatus {
  return Object.hasOwn(statuses, kind) ? statuses[kind as keyof typeof statuses] : 'input_required'
}
