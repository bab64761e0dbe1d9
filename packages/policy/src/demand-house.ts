import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { DemandHouse, Desk } from '@postern/core'

export interface DemandHouseOptions {
  readonly desk: Pick<Desk, 'secret'>
  readonly origin: string
  readonly ttlMs: number
}

/**
 * States are derived from ids with a key of the house. So no answer, history or log that is kept holds one, while every retry of a delivery
 * shows the same.
 */
export async function openDemandHouse({ desk, origin, ttlMs }: DemandHouseOptions): Promise<DemandHouse> {
  const text = await desk.secret('demands', async () => randomBytes(32).toString('base64url'))
  const key = Buffer.from(text, 'base64url')
  return {
    origin,
    ttlMs,
    stateOf: id => createHmac('sha256', key).update(`postern demand v1 ${id}`).digest('base64url'),
    digestOf: state => createHash('sha256').update(state).digest('hex'),
  }
}

/** What every state looks like. */
export const statePattern = /^[\w-]{43}$/
