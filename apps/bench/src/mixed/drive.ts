import { openConnection } from '../http/connection.ts'
import { rest } from './rest.ts'

const lanes = 16

export interface Drive {
  readonly port: number
  readonly seconds: number
  /** Requests; absent: as many as it takes. */
  readonly perSecond?: number | undefined
  /** One request that was never made before. */
  make(): Promise<Uint8Array>
}

export interface Driven {
  readonly perSecond: number
  /** How often each status came. */
  readonly statuses: ReadonlyMap<number, number>
}

/** Sends over some connections until the seconds are over. */
export async function driveGateway({
  port,
  seconds,
  perSecond = Number.POSITIVE_INFINITY,
  make,
}: Drive): Promise<Driven> {
  const begun = performance.now()
  const statuses = new Map<number, number>()
  let sent = 0
  async function runLane(): Promise<void> {
    const connection = await openConnection(port)
    while (performance.now() - begun < seconds * 1000) {
      await rest(begun + (sent++ / perSecond) * 1000 - performance.now())
      const { status } = await connection.exchange(await make())
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: lanes }, runLane))
  const answered = [...statuses.values()].reduce((sum, count) => sum + count, 0)
  return { perSecond: answered / ((performance.now() - begun) / 1000), statuses }
}
