// Queues the message that tells an agent of a new or ended link, inside the transaction that changes the link.
import type { LinkChange, LinkNotifications } from '@postern/pipeline'
import { draftMessage } from '../messages/message-draft.ts'
import type { AdmitNewMessage } from '../messages/refusals.ts'
import type { Operation } from '../sql/operation.ts'
import type { Batch } from '../transaction/batch.ts'

export type QueueLinkNotice = (
  batch: Batch,
  change: LinkChange,
  events: LinkNotifications | undefined,
) => Operation<void>

export function createLinkNotifier(admitNewMessage: AdmitNewMessage): QueueLinkNotice {
  return function* (batch, change, events) {
    const intake = events?.describe(change)
    if (events && intake) yield* admitNewMessage(batch, draftMessage(intake, events.correlationId))
  }
}
