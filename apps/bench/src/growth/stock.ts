import type { Desk, LeaseRequest } from '@postern/core'
import { makeAnswer, makeIntake } from './conversation.ts'

/** As many as share one commit. */
const portion = 250
const lease = { holder: 'stock', limit: portion, leaseMs: 600_000 } satisfies LeaseRequest

export interface Cost {
  /** CPU time of the whole process, µs. */
  readonly cpuMicros: number
  readonly wallMicros: number
}

/** Messages `from` … `to - 1` through the desk's own port, whole: admitted, answered, delivered. */
export async function stockDesk(desk: Desk, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += portion) {
    await admitPortion(desk, at, Math.min(portion, to - at))
    await finishPortion(desk)
  }
}

/** What it costs to admit `count` messages, each; answering and delivering them afterwards does not count. */
export async function measureAdmission(desk: Desk, from: number, count: number): Promise<Cost> {
  let cpu = 0
  let wall = 0
  for (let at = from; at < from + count; at += portion) {
    const cpuBefore = process.cpuUsage()
    const wallBefore = performance.now()
    await admitPortion(desk, at, portion)
    const { user, system } = process.cpuUsage(cpuBefore)
    cpu += user + system
    wall += (performance.now() - wallBefore) * 1000
    await finishPortion(desk)
  }
  return { cpuMicros: cpu / count, wallMicros: wall / count }
}

async function admitPortion(desk: Desk, from: number, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, index) => desk.admit(makeIntake(from + index), `bench-${from + index}`)),
  )
}

/** Until nothing is left to do; of one thread only one turn is ready at a time. */
async function finishPortion(desk: Desk): Promise<void> {
  while (true) {
    const turns = await desk.leaseTurns(lease)
    await Promise.all(turns.map(turn => desk.commit(turn, makeAnswer(turn))))
    const deliveries = await desk.leaseDeliveries({ ...lease, rank: 'answer' })
    const sent = { state: 'sent', wire: { type: 'Create' }, note: 'answered 202' } as const
    await Promise.all(deliveries.map(delivery => desk.settle(delivery, sent)))
    if (turns.length === 0 && deliveries.length === 0) return
  }
}
