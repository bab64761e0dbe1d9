// Queues the message that informs an agent of a link or its end, within the transaction that creates or ends the link.
import type { LinkChange, LinkNotifications } from '@postern/pipeline'
import { draftIntake } from '../messages/message-draft.ts'
import type { AdmitNew } from '../messages/refusals.ts'
import type { Batch } from '../transaction/batch.ts'

export type QueueLinkNotice = (batch: Batch, change: LinkChange, events: LinkNotifications | undefined) => void

export function createLinkNotifier(admitNew: AdmitNew): QueueLinkNotice {
  return (batch, change, events) => {
    const intake = events?.describe(change)
    if (events && intake) admitNew(batch, draftIntake(intake, events.correlationId))
  }
}
