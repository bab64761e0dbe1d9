import { readQueueMode } from '@postern/agents'
import type { Admitted, Intake, QueueMode, Store } from '@postern/core'
import type { Config } from '../config/schema.ts'

type AgentConfigs = Config['agents']

/** The store, where each message waits in the line of its thread as its agent wants it. */
export function assignQueueModes(store: Store, agents: AgentConfigs): Store {
  const lanes = new Map<string, QueueMode>()
  for (const [name, { queue }] of Object.entries(agents)) {
    const lane = readQueueMode(queue)
    if (lane) lanes.set(name, lane)
  }
  if (lanes.size === 0) return store
  return Object.assign(Object.create(store) as Store, {
    admit(intake: Intake, correlationId: string): Promise<Admitted> {
      const lane = lanes.get(intake.agent)
      return store.admit(lane ? { ...intake, lane } : intake, correlationId)
    },
  })
}

/** How many turns at once, for agents that say it. */
export function listConcurrency(agents: AgentConfigs): ReadonlyMap<string, number> {
  return new Map(
    Object.entries(agents).flatMap(([name, { concurrency }]) =>
      concurrency === undefined ? [] : [[name, concurrency] as const],
    ),
  )
}
