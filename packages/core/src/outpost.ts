import type { Act } from './act.ts'
import { actSchema } from './act.ts'
import { toParts } from './act-list.ts'
import type { AgentOutpost } from './agent.ts'
import type { WorkDesk } from './desk.ts'
import { Rejection } from './errors.ts'
import type { ActHouse, Acting } from './plan-acts.ts'
import { planActs } from './plan-acts.ts'
import type { Log } from './world.ts'
import { randomHex } from './world.ts'

export interface OutpostHouse extends ActHouse {
  readonly desk: ActHouse['desk'] & Pick<WorkDesk, 'act'>
}

/**
 * Does what an agent does of itself; durable when it resolves. All of it is done or nothing.
 * @throws Rejection `unsupported` when something cannot be done: unknown ids, nobody to tell
 */
export async function performActs(acts: readonly Act[], acting: Acting, house: OutpostHouse): Promise<void> {
  const planned = await planActs(acts, acting, house)
  if (planned.length < acts.length) {
    throw new Rejection('unsupported', 'Cannot act: there is no such response or message, or no channel for it')
  }
  await house.desk.act(planned, randomHex(house.world, 8))
}

export interface OutpostOptions {
  readonly acting: Acting
  readonly house: OutpostHouse
  readonly signal: AbortSignal
  readonly log: Log
}

/** Where an agent speaks without being asked. */
export function createOutpost({ acting, house, signal, log }: OutpostOptions): AgentOutpost {
  const perform = async (act: Act) => performActs([actSchema.parse(act)], acting, house)
  return {
    signal,
    log,
    async post(content, options) {
      const id = randomHex(house.world, 16)
      await perform({ ...options, act: 'post', id, parts: toParts(content) })
      return id
    },
    edit: (response, content) => perform({ act: 'edit', response, parts: toParts(content) }),
    delete: response => perform({ act: 'delete', response }),
    react: (reaction, message) => perform({ act: reaction, message }),
  }
}
