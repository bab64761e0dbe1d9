import type { DemandObjection } from '@postern/core'
import { Rejection } from '@postern/core'

const descriptions: Readonly<Record<DemandObjection, string>> = {
  unknown: 'is not known',
  used: 'has been used already',
  expired: 'has expired',
  kind: 'is of another kind',
  elsewhere: 'belongs to another conversation',
  receipt_used: 'is paid by a receipt that was used already',
  ended: 'belongs to a task that has ended',
}

/** Where a message of A2A names it. */
const field = 'message.metadata.mentionable.policy_resolution.in_reply_to_state'

/** A message that decides nothing is not taken: its sender believes that it does. */
export function refuseResolution(reason: DemandObjection): Rejection {
  const description = descriptions[reason]
  return new Rejection('forbidden', `Cannot take policy_resolution: in_reply_to_state ${description}`, {
    violations: [{ field, description }],
  })
}
