// Hands deliveries of an answer to the worker of this process.
import type { Delivery, DeliveryConsumer, DeliveryTicket, WorkStore } from '@postern/pipeline'
import type { WriterExclusivity } from '../../sql/ownership.ts'
import type { Sql } from '../../sql/sql.ts'
import type { InDoubtLeases } from '../in-doubt-leases.ts'
import { createInDoubtLeases } from '../in-doubt-leases.ts'
import type { InProcessQueue, Slot } from '../in-process-queue.ts'
import { createInProcessQueue } from '../in-process-queue.ts'

type AnswerQueue = InProcessQueue<Delivery, DeliveryTicket, DeliveryConsumer>

export type DeliverySlot = Slot<Delivery, DeliveryConsumer>

/** Hands deliveries to the worker of this process. Deliveries of an answer are inserted with their leases. */
export interface InProcessDeliveries
  extends Pick<WorkStore, 'setDeliveryConsumer'>,
    Pick<AnswerQueue, 'keepSlot' | 'limitRequest' | 'hold'> {
  /** Leases that may have been stored with an answer, for the next poll. */
  readonly inDoubt: InDoubtLeases
}

export function createInProcessDeliveries(db: Sql, { isSoleWriter }: WriterExclusivity): InProcessDeliveries {
  const { setConsumer, ...slots } = createInProcessQueue<Delivery, DeliveryTicket, DeliveryConsumer>({ isSoleWriter })
  return {
    ...((isSoleWriter || db.prepareCheck) && { setDeliveryConsumer: setConsumer }),
    ...slots,
    inDoubt: createInDoubtLeases(db, { table: 'deliveries', idColumn: 'response_seq' }),
  }
}
