import { readLane } from '@postern/agents'
import type { Admitted, Desk, Intake, TurnLane } from '@postern/core'
import type { Config } from './config/schema.ts'

type AgentConfigs = Config['agents']

/** The desk, where each message waits in the line of its thread as its agent wants it. */
export function assignLanes(desk: Desk, agents: AgentConfigs): Desk {
  const lanes = new Map<string, TurnLane>()
  for (const [name, { queue }] of Object.entries(agents)) {
    const lane = readLane(queue)
    if (lane) lanes.set(name, lane)
  }
  if (lanes.size === 0) return desk
  return Object.assign(Object.create(desk) as Desk, {
    admit(intake: Intake, correlationId: string): Promise<Admitted> {
      const lane = lanes.get(intake.agent)
      return desk.admit(lane ? { ...intake, lane } : intake, correlationId)
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
