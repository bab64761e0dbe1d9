import type { Admitted, RequirementObjection } from '@postern/core'
import { Rejection, refuseResolution } from '@postern/core'
import type { Batch } from '../engine/database.ts'
import type { MessageDraft } from './table.ts'

/** What is surely no duplicate, inside a write; nothing is changed when it is refused. */
export type AdmitNew = (batch: Batch, draft: MessageDraft) => Admitted | IntakeRefusal

const refusals = {
  ended: () => new Rejection('unsupported', 'Cannot continue task: it has ended'),
  taken: () => new Rejection('replayed', 'Cannot open task: there is one of this id'),
  gone: () => new Rejection('no_recipient', 'Cannot take message: its conversation is gone'),
  full: () => new Rejection('rate_limited', 'Cannot open task: too many are open', { retryAfter: 60 }),
} as const

export type IntakeRefusal = keyof typeof refusals | RequirementObjection

export function refuseIntake(reason: IntakeRefusal): Rejection {
  return Object.hasOwn(refusals, reason)
    ? refusals[reason as keyof typeof refusals]()
    : refuseResolution(reason as RequirementObjection)
}
