import type { LeaseRequest, Store } from '@postern/core'
import { makeAnswer, makeIntake } from './conversation.ts'

/** As many as share one commit. */
const portion = 250
const lease = { holder: 'stock', limit: portion, leaseMs: 600_000 } satisfies LeaseRequest

export interface Cost {
  /** CPU time of the whole process, µs. */
  readonly cpuMicros: number
  readonly wallMicros: number
}

/** Messages `from` … `to - 1` through the store's own port, whole: admitted, answered, delivered. */
export async function stockStore(store: Store, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += portion) {
    await admitPortion(store, at, Math.min(portion, to - at))
    await finishPortion(store)
  }
}

/** What it costs to admit `count` messages, each; answering and delivering them afterwards does not count. */
export async function measureAdmission(store: Store, from: number, count: number): Promise<Cost> {
  let cpu = 0
  let wall = 0
  for (let at = from; at < from + count; at += portion) {
    const cpuBefore = process.cpuUsage()
    const wallBefore = performance.now()
    await admitPortion(store, at, portion)
    const { user, system } = process.cpuUsage(cpuBefore)
    cpu += user + system
    wall += (performance.now() - wallBefore) * 1000
    await finishPortion(store)
  }
  return { cpuMicros: cpu / count, wallMicros: wall / count }
}

async function admitPortion(store: Store, from: number, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, index) => store.admit(makeIntake(from + index), `bench-${from + index}`)),
  )
}

/** Until nothing is left to do; of one thread only one turn is ready at a time. */
async function finishPortion(store: Store): Promise<void> {
  while (true) {
    const turns = await store.leaseTurns(lease)
    await Promise.all(turns.map(turn => store.commit(turn, makeAnswer(turn))))
    const deliveries = await store.leaseDeliveries({ ...lease, rank: 'answer' })
    const sent = { state: 'sent', wire: { type: 'Create' }, note: 'answered 202' } as const
    await Promise.all(deliveries.map(delivery => store.settle(delivery, sent)))
    if (turns.length === 0 && deliveries.length === 0) return
  }
}
