import type { Store } from '@postern/core'
import type { RecordStore } from '@postern/transcript'

export interface PausedAgents {
  isPaused(agent: string): boolean
  /** From now on, in every gateway of the store, and after a restart. */
  setPaused(agent: string, isPaused: boolean): Promise<void>
  /** How many turns of an agent may run at once; none of a paused one. Changes with every pause. */
  readonly turnsOf: ReadonlyMap<string, number>
  close(): void
}

interface PausedAgentsOptions {
  readonly store: Pick<Store, 'listen' | 'notify'> & { readonly records: RecordStore }
  /** Without a pause. */
  readonly concurrency: ReadonlyMap<string, number>
}

const kind = 'paused-agent'
const owner = 'operator'
const topic = 'paused-agents'
const mostListed = 1_000

/** Agents whose messages wait until an operator resumes them: they are admitted, and no turn of them begins. */
export async function openPausedAgents({ store, concurrency }: PausedAgentsOptions): Promise<PausedAgents> {
  const { records } = store
  const turnsOf = new Map(concurrency)
  const read = async () => {
    const listed = await records.list(kind, owner, { limit: mostListed })
    turnsOf.clear()
    for (const [agent, most] of concurrency) turnsOf.set(agent, most)
    for (const { key } of listed) turnsOf.set(key, 0)
  }
  await read()
  const close = store.listen(topic, () => void read().catch(() => undefined))
  return {
    turnsOf,
    close,
    isPaused: agent => turnsOf.get(agent) === 0,
    async setPaused(agent, isPaused) {
      const place = { kind, owner, key: agent }
      await (isPaused ? records.put(place, {}) : records.remove(place))
      await read()
      store.notify(topic, { kind: 'changed' })
    },
  }
}
