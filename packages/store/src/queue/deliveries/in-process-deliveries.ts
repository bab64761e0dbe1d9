// Hands the deliveries of an answer to the worker of this process without a poll.
import type { Delivery, DeliveryConsumer, DeliveryTicket, WorkStore } from '@postern/pipeline'
import type { WriterExclusivity } from '../../sql/ownership.ts'
import type { Sql } from '../../sql/sql.ts'
import type { InDoubtLeases } from '../in-doubt-leases.ts'
import { createInDoubtLeases } from '../in-doubt-leases.ts'
import type { InProcessQueue, Slot } from '../in-process-queue.ts'
import { createInProcessQueue } from '../in-process-queue.ts'

type AnswerQueue = InProcessQueue<Delivery, DeliveryTicket, DeliveryConsumer>

export type DeliverySlot = Slot<Delivery, DeliveryConsumer>

/** The queue of deliveries for the worker of this process. The deliveries of an answer are inserted with their leases. */
export interface InProcessDeliveries
  extends Pick<WorkStore, 'setDeliveryConsumer'>,
    Pick<AnswerQueue, 'reserveSlot' | 'limitRequest' | 'endPoll'> {
  /** The leases that may have been stored with an answer. The next poll releases them. */
  readonly inDoubt: InDoubtLeases
}

export function createInProcessDeliveries(db: Sql, { isSoleWriter }: WriterExclusivity): InProcessDeliveries {
  const { setConsumer, ...slots } = createInProcessQueue<Delivery, DeliveryTicket, DeliveryConsumer>({ isSoleWriter })
  return {
    ...((isSoleWriter || db.hasEndChecks) && { setDeliveryConsumer: setConsumer }),
    ...slots,
    inDoubt: createInDoubtLeases(db, { table: 'deliveries', idColumn: 'response_seq' }),
  }
}
