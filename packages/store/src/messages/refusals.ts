// Refuses messages that the store cannot admit.

import { Rejection } from '@postern/message'
import type { AdmitResult, RequirementObjection } from '@postern/pipeline'
import { refuseResolution } from '@postern/pipeline'
import type { Operation } from '../sql/operation.ts'
import type { Batch } from '../transaction/batch.ts'
import type { MessageDraft } from './message-draft.ts'

/** Admits a message that cannot be a duplicate, inside a write. A refused message changes nothing. */
export type AdmitNewMessage = (batch: Batch, draft: MessageDraft) => Operation<AdmitResult | IntakeRefusal>

/** The texts of temporary refusals. They end when stored bytes are pruned by age or by an operator. */
const storageRefusals = {
  sender: 'Cannot store message: too much of this sender is stored (limits.stored)',
  unproven: 'Cannot store message: too much of senders who prove nothing is stored (limits.stored.unverified)',
} as const

const refusals = {
  ended: () => new Rejection('unsupported', 'Cannot continue task: it has ended'),
  taken: () => new Rejection('replayed', 'Cannot open task: there is one of this id'),
  gone: () => new Rejection('no_recipient', 'Cannot take message: its conversation is gone'),
  sender_full: () => new Rejection('rate_limited', storageRefusals.sender, { retryAfter: 3_600 }),
  unproven_full: () => new Rejection('rate_limited', storageRefusals.unproven, { retryAfter: 3_600 }),
  full: () => new Rejection('rate_limited', 'Cannot open task: too many are open', { retryAfter: 60 }),
} as const

export type IntakeRefusal = keyof typeof refusals | RequirementObjection

export function refuseIntake(reason: IntakeRefusal): Rejection {
  return Object.hasOwn(refusals, reason)
    ? refusals[reason as keyof typeof refusals]()
    : refuseResolution(reason as RequirementObjection)
}
