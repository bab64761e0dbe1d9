// Finds the status of a response that has requirements or refusals.

import type { Part, Policy } from '../part.ts'
import type { ResponseStatus } from '../response.ts'
import { isRequirementKind, refusalKinds } from './policy-kinds.ts'

export function policiesOf(parts: readonly Part[]): readonly Policy[] {
  return parts.flatMap(part => (part.kind === 'policy' ? [part.policy] : []))
}

/**
 * Returns the status of a response with policies. A requirement that can be decided leaves the turn open, whatever its agent says. A requirement
 * or refusal is never success, nor is a policy of an unknown kind (MN-7.1).
 */
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
  if (kind === 'unauthorized') return 'auth_required'
  return refusalKinds.some(refusal => refusal === kind) ? 'rejected' : 'input_required'
}
