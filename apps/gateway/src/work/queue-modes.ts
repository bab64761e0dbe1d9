import { readQueueMode } from '@postern/agents'
import type { AdmissionRule, QueueMode } from '@postern/core'
import type { Config } from '../config/schema.ts'

type AgentConfigs = Config['agents']

/** Each message waits in its thread as its agent wants it. */
export function createQueueModeRule(agents: AgentConfigs): AdmissionRule {
  const lanes = new Map<string, QueueMode>()
  for (const [name, { queue }] of Object.entries(agents)) {
    const lane = readQueueMode(queue)
    if (lane) lanes.set(name, lane)
  }
  return {
    name: 'queue modes',
    admit(intake) {
      const lane = lanes.get(intake.agent)
      return lane ? { ...intake, lane } : intake
    },
  }
}

/** How many turns at once, for agents that say it. */
export function listConcurrency(agents: AgentConfigs): ReadonlyMap<string, number> {
  return new Map(
    Object.entries(agents).flatMap(([name, { concurrency }]) =>
      concurrency === undefined ? [] : [[name, concurrency] as const],
    ),
  )
}
