import type { Desk } from './desk.ts'
import type { PlannedDelivery } from './intake.ts'
import type { ChannelName } from './message.ts'
import type { Channel } from './protocol.ts'
import type { Relation } from './relation.ts'
import type { Broadcast } from './work.ts'
import type { World } from './world.ts'

/** Peers whose deliveries are queued in one transaction, so that others get their turn. */
const pageSize = 200

export interface Spreading {
  readonly desk: Pick<Desk, 'listRelations' | 'spread'>
  findChannel(name: ChannelName): Channel | undefined
  readonly world: Pick<World, 'log'>
  isClosed(): boolean
}

/** Spreads a broadcast out into deliveries, page by page; whoever takes it up later goes on where this one stopped. */
export async function spreadBroadcast(
  broadcast: Broadcast,
  { desk, findChannel, isClosed, world }: Spreading,
): Promise<void> {
  const { via, agent, relation, until } = broadcast
  let { after } = broadcast
  while (!isClosed()) {
    const listed = await desk.listRelations({ via, agent, relation, limit: pageSize, after })
    const page = listed.filter(({ place }) => place <= until)
    const deliveries = planPage(broadcast, page, { findChannel, world })
    const isDone = deliveries === undefined || page.length < pageSize
    after = page.at(-1)?.place ?? after
    await desk.spread(broadcast, deliveries ?? [], { after, isDone })
    if (isDone) return
  }
}

/** Undefined: this broadcast cannot be spread, now or ever; trying again would fail again. */
function planPage(
  broadcast: Broadcast,
  page: readonly Relation[],
  { findChannel, world }: Pick<Spreading, 'findChannel' | 'world'>,
): readonly PlannedDelivery[] | undefined {
  const { id, via, agent } = broadcast
  try {
    const planned = findChannel(via)?.spread?.(broadcast, page)
    if (!planned) world.log.error({ broadcast: id, via, agent }, 'a broadcast ends: its channel is not open')
    return planned
  } catch (error) {
    world.log.error({ broadcast: id, via, agent, err: error }, 'a broadcast ends: it cannot be spread')
    return undefined
  }
}
