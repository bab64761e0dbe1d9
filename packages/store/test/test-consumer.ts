// Creates consumers of queued work that end no work by themselves.
import type { WorkConsumer } from '@postern/pipeline'

interface TestConsumer<Work extends Ticket, Ticket> {
  readonly consumer: WorkConsumer<Work, Ticket>
  /** Work that arrived with its lease. */
  readonly begun: Work[]
  /** The tickets of slots that are reserved or in use. */
  readonly held: Set<Ticket>
}

/** Creates a worker that ends no work by itself. */
export function createTestConsumer<Work extends Ticket, Ticket>(slots = 10): TestConsumer<Work, Ticket> {
  const begun: Work[] = []
  const held = new Set<Ticket>()
  const consumer: WorkConsumer<Work, Ticket> = {
    holder: 'worker',
    leaseMs: 60_000,
    hasCapacity: () => held.size < slots,
    beginPoll: () => ({ limit: slots - held.size, shares: { maxPerGroup: slots, usedByGroup: new Map() } }),
    endPoll() {},
    reserveSlot: ticket => void held.add(ticket),
    undoLease: work => void held.delete(work),
    releaseSlot: ticket => void held.delete(ticket),
    begin(work, ticket) {
      begun.push(work)
      if (held.delete(ticket)) held.add(work)
    },
  }
  return { consumer, begun, held }
}
