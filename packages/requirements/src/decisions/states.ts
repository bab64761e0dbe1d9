import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { RequirementDeps, Store } from '@postern/core'

interface StateOptions {
  readonly store: Pick<Store, 'secret'>
  readonly origin: string
  readonly ttlMs: number
}

/**
 * States are derived from ids with a key of the gateway. So no answer, history or log that is kept holds one, while every retry of a delivery
 * shows the same.
 */
export async function openRequirementStates({ store, origin, ttlMs }: StateOptions): Promise<RequirementDeps> {
  const text = await store.secret('requirements', async () => randomBytes(32).toString('base64url'))
  const key = Buffer.from(text, 'base64url')
  return {
    origin,
    ttlMs,
    stateOf: id => createHmac('sha256', key).update(`postern requirement v1 ${id}`).digest('base64url'),
    digestOf: state => createHash('sha256').update(state).digest('hex'),
  }
}

/** What every state looks like. */
export const statePattern = /^[\w-]{43}$/
