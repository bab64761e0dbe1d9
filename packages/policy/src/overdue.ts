import type { OverdueDesk, World } from '@postern/core'
import { randomHex } from '@postern/core'

export interface OverdueRoom {
  readonly desk: OverdueDesk
  readonly world: Pick<World, 'randomBytes' | 'log' | 'sleep'>
}

/** Nobody waits much longer than he was told, ms. */
const lookMs = 1_000
const mostAtOnce = 50

/** Until the signal aborts: whoever waits for an operator who has not decided in time is told so, once, whichever gateway is first. */
export async function watchOverdue(room: OverdueRoom, signal: AbortSignal): Promise<void> {
  const { world } = room
  while (!signal.aborted) {
    const ended = await endOverdue(room, signal).catch(err => {
      world.log.warn({ err }, 'waits whose time is over could not be looked for')
      return 0
    })
    if (ended < mostAtOnce) await world.sleep(lookMs, signal).catch(() => undefined)
  }
}

/** How many there were. One that fails is tried again, and holds up nobody. */
async function endOverdue({ desk, world }: OverdueRoom, signal: AbortSignal): Promise<number> {
  let ended = 0
  for (const { id, agent } of await desk.listOverdue(mostAtOnce)) {
    if (signal.aborted) break
    const correlationId = randomHex(world, 8)
    const fields = { correlation_id: correlationId, demand: id, agent }
    try {
      const message = await desk.endOverdue(id, correlationId)
      ended += 1
      world.log.info({ ...fields, message }, 'nobody decided in time')
    } catch (err) {
      world.log.warn({ ...fields, err }, 'a wait whose time is over could not be ended')
    }
  }
  return ended
}
