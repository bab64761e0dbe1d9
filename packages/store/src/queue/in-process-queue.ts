// Hands new work to the worker of this process without a poll. The transaction inserts the work with its lease.
import type { LeaseRequest, WorkConsumer } from '@postern/pipeline'
import type { WriterExclusivity } from '../sql/ownership.ts'
import type { Batch } from '../transaction/batch.ts'

/** A slot of this process's worker that is reserved for new work until its transaction is over. */
export interface Slot<Work, Consumer = unknown> {
  readonly consumer: Consumer & Pick<LeaseRequest, 'holder' | 'leaseMs'>
  begin(work: Work): void
}

/** The result of a poll. */
export interface LeasedWork<Work> {
  readonly work: readonly Work[]
  /** The number of items that were ready, including those that other workers run. */
  readonly readyCount: number
  /** The numbers of items that other workers have leased, by group. */
  readonly heldByOthers: ReadonlyMap<string, number>
}

/** The request of a poll. `consumer` is set if the worker of this process polls. */
export type PollRequest<Consumer> = LeaseRequest & { readonly consumer?: Consumer | undefined }

/** The queue of new work for the worker of this process. */
export interface InProcessQueue<Work, Ticket, Consumer> {
  setConsumer(consumer: Consumer): void
  reserveSlot(batch: Batch, ticket: Ticket): Slot<Work, Consumer> | undefined
  /** Returns the limits of a worker at this time, because it may have begun other work since its request. */
  limitRequest(request: PollRequest<Consumer>): Pick<LeaseRequest, 'limit' | 'shares'>
  /** Reserves slots for the leased work and ends the poll. */
  endPoll(batch: Batch, request: PollRequest<Consumer>, leased: LeasedWork<Work>): void
}

export function createInProcessQueue<Work extends Ticket, Ticket, Consumer extends WorkConsumer<Work, Ticket>>({
  isSoleWriter,
}: WriterExclusivity): InProcessQueue<Work, Ticket, Consumer> {
  let consumer: Consumer | undefined

  function reserveConsumerSlot({ atEnd }: Batch, ticket: Ticket): Slot<Work, Consumer> | undefined {
    const currentConsumer = consumer
    if (!currentConsumer?.hasCapacity(ticket)) return undefined
    currentConsumer.reserveSlot(ticket)
    atEnd.push(() => currentConsumer.releaseSlot(ticket))
    return { consumer: currentConsumer, begin: work => currentConsumer.begin(work, ticket) }
  }

  return {
    setConsumer(newConsumer) {
      consumer = newConsumer
    },
    reserveSlot(batch, ticket) {
      return batch.leasesNew ? reserveConsumerSlot(batch, ticket) : undefined
    },
    limitRequest(request) {
      const { consumer: requester } = request
      return requester ? requester.beginPoll(!isSoleWriter) : request
    },
    endPoll(batch, { consumer: requester }, { work, readyCount, heldByOthers }) {
      if (!requester) return
      for (const item of work) requester.reserveSlot(item)
      requester.endPoll({ leasedCount: work.length, readyCount, heldByOthers })
      batch.ifUndone.push(() => work.forEach(requester.undoLease))
    },
  }
}
