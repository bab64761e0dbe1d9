import type { Policy } from '../part.ts'

/** Who may say yes: the one who is talking, or a person behind the gateway. */
export const approvers = ['sender', 'operator'] as const
export type Approver = (typeof approvers)[number]

/** Whose a requirement is that operators decide. No principal is called so: those are JSON lists. */
export const operatorSubject = 'operator'

/** Whoever is talking is only told of it. */
export function isForOperator({ kind, approver }: Policy): boolean {
  return kind === 'consent_required' && approver === 'operator'
}
