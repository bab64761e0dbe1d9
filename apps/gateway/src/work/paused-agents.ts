// Remembers which agents an operator has paused, for every gateway of the store.
import type { Store } from '@postern/pipeline'
import type { RecordStore } from '@postern/transcript'

export interface PausedAgents {
  isPaused(agent: string): boolean
  /** Pauses or resumes an agent, in every gateway of the store, and beyond a restart. */
  setPaused(agent: string, isPaused: boolean): Promise<void>
  /** The number of turns of each agent that may run at once; 0 while it is paused. Changes with every pause. */
  readonly turnsOf: ReadonlyMap<string, number>
  close(): void
}

interface PausedAgentsOptions {
  readonly store: Pick<Store, 'listen' | 'notify'> & { readonly records: RecordStore }
  /** The number of turns without a pause. */
  readonly concurrency: ReadonlyMap<string, number>
  /** Time between two readings of the pauses, ms; default: 5 s. A hint of a change may be lost. */
  readonly everyMs?: number
}

const kind = 'paused-agent'
const owner = 'operator'
const topic = 'paused-agents'
const maxListed = 1_000

/** Opens the pauses. Messages to a paused agent are admitted, but none of its turns begins. */
export async function openPausedAgents({
  store,
  concurrency,
  everyMs = 5_000,
}: PausedAgentsOptions): Promise<PausedAgents> {
  const { records } = store
  const turnsOf = new Map(concurrency)
  const read = async () => {
    const listed = await records.list(kind, owner, { limit: maxListed })
    turnsOf.clear()
    for (const [agent, maxTurns] of concurrency) turnsOf.set(agent, maxTurns)
    for (const { key } of listed) turnsOf.set(key, 0)
  }
  await read()
  // While the store does not answer, the last known pauses count.
  const readAgain = () => void read().catch(() => undefined)
  const unlisten = store.listen(topic, readAgain)
  const timer = setInterval(readAgain, everyMs).unref()
  return {
    turnsOf,
    close() {
      clearInterval(timer)
      unlisten()
    },
    isPaused: agent => turnsOf.get(agent) === 0,
    async setPaused(agent, isPaused) {
      const recordKey = { kind, owner, key: agent }
      await (isPaused ? records.put(recordKey, {}) : records.remove(recordKey))
      await read()
      store.notify(topic, { kind: 'changed' })
    },
  }
}
