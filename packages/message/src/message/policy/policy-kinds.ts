// Lists the kinds of requirements and refusals, and who may approve a requirement.

/** The kinds of policies that somebody can decide, after which the agent continues. */
export const requirementKinds = ['consent_required', 'payment_required', 'unauthorized'] as const
export type RequirementKind = (typeof requirementKinds)[number]

/** The kinds of policies that nobody can decide: the agent refuses. */
export const refusalKinds = [
  'forbidden',
  'too_many_requests',
  'unavailable_for_legal_reasons',
  'service_unavailable',
] as const
export type RefusalKind = (typeof refusalKinds)[number]

export function isRequirementKind(kind: string): kind is RequirementKind {
  return requirementKinds.some(requirementKind => requirementKind === kind)
}

/** The people who may approve: the sender, or an operator of the gateway. */
export const approvers = ['sender', 'operator'] as const
export type Approver = (typeof approvers)[number]

/** The subject of requirements that operators decide. No principal has this name: principals are JSON lists. */
export const operatorSubject = 'operator'

/** Returns true if an operator decides the requirement. The sender only learns that they have to wait. */
export function isForOperator({
  kind,
  approver,
}: {
  readonly kind: string
  readonly approver?: Approver | undefined
}): boolean {
  return kind === 'consent_required' && approver === 'operator'
}
