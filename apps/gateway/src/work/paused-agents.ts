// Stores the agents that an operator has paused, for all gateways of the store.
import type { Store } from '@postern/pipeline'
import type { RecordStore } from '@postern/transcript'

export interface PausedAgents {
  isPaused(agent: string): boolean
  /** Pauses or resumes an agent in all gateways of the store, until the opposite call. */
  setPaused(agent: string, isPaused: boolean): Promise<void>
  /** The number of turns of each agent that may run at once, which is 0 during a pause. It changes with every pause. */
  readonly turnsOf: ReadonlyMap<string, number>
  close(): void
}

interface PausedAgentsOptions {
  readonly store: Pick<Store, 'listen' | 'notify'> & { readonly records: RecordStore }
  /** The number of concurrent turns outside of pauses, by agent. */
  readonly concurrency: ReadonlyMap<string, number>
  /** The time between two reads of the pauses, ms, because a notice of a change may be lost. Default: 5 s. */
  readonly everyMs?: number
}

const kind = 'paused-agent'
const owner = 'operator'
const topic = 'paused-agents'
const maxPausedAgents = 1_000

/** Opens the pauses. The gateway admits messages to a paused agent, but begins none of its turns. */
export async function openPausedAgents({
  store,
  concurrency,
  everyMs = 5_000,
}: PausedAgentsOptions): Promise<PausedAgents> {
  const { records } = store
  const turnsOf = new Map(concurrency)
  const readPauses = async () => {
    const storedRecords = await records.list(kind, owner, { limit: maxPausedAgents })
    turnsOf.clear()
    for (const [agent, maxTurns] of concurrency) turnsOf.set(agent, maxTurns)
    for (const { key } of storedRecords) turnsOf.set(key, 0)
  }
  await readPauses()
  // While the store does not answer, the last known pauses apply.
  const refreshPauses = () => void readPauses().catch(() => undefined)
  const unlisten = store.listen(topic, refreshPauses)
  const timer = setInterval(refreshPauses, everyMs).unref()
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
      await readPauses()
      store.notify(topic, { kind: 'changed' })
    },
  }
}
