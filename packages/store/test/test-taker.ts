import type { WorkTaker } from '@postern/core'

interface TestTaker<Work extends Ticket, Ticket> {
  readonly taker: WorkTaker<Work, Ticket>
  /** Work that came with its lease. */
  readonly begun: Work[]
  /** What slots are kept for, or filled by. */
  readonly held: Set<Ticket>
}

/** A worker that ends nothing by itself. */
export function createTestTaker<Work extends Ticket, Ticket>(slots = 10): TestTaker<Work, Ticket> {
  const begun: Work[] = []
  const held = new Set<Ticket>()
  const taker: WorkTaker<Work, Ticket> = {
    holder: 'worker',
    leaseMs: 60_000,
    hasRoom: () => held.size < slots,
    lookForAll: () => ({ limit: slots - held.size, shares: { most: slots, taken: new Map() } }),
    endLook() {},
    hold: ticket => void held.add(ticket),
    giveUp: work => void held.delete(work),
    letGo: ticket => void held.delete(ticket),
    begin(work, ticket) {
      begun.push(work)
      if (held.delete(ticket)) held.add(work)
    },
  }
  return { taker, begun, held }
}
