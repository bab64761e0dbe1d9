import { Rejection } from '../format/errors.ts'
import type { RequirementObjection } from '../ports/records/requirement-record.ts'

const descriptions: Readonly<Record<RequirementObjection, string>> = {
  unknown: 'is not known',
  used: 'has been used already',
  expired: 'has expired',
  kind: 'is of another kind',
  elsewhere: 'belongs to another conversation',
  receipt_used: 'is paid by a receipt that was used already',
  ended: 'belongs to a task that has ended',
  taken: 'was to be decided by a task that there was already',
}

/** Where a message of A2A says what it decides. */
const place = 'message.metadata.mentionable.policy_resolution'

/** A message that decides nothing is not taken: its sender believes that it does. */
export function refuseResolution(reason: RequirementObjection): Rejection {
  return refuseClaim('in_reply_to_state', descriptions[reason])
}

export function refuseClaim(
  member: 'in_reply_to_state' | 'outcome' | 'receipt' | 'remember',
  description: string,
): Rejection {
  return new Rejection('forbidden', `Cannot take policy_resolution: ${member} ${description}`, {
    violations: [{ field: `${place}.${member}`, description }],
  })
}

/** The same as a sentence for people. */
export function describeObjection(reason: RequirementObjection): string {
  return `This ${descriptions[reason]}.`
}
