import type { Desk } from './desk.ts'
import type { ChannelName } from './message.ts'
import type { Channel } from './protocol.ts'
import type { Broadcast } from './work.ts'

/** Peers whose deliveries are queued in one transaction, so that others get their turn. */
const pageSize = 200

export interface Spreading {
  readonly desk: Pick<Desk, 'listRelations' | 'spread'>
  findChannel(name: ChannelName): Channel | undefined
  isClosed(): boolean
}

/** Spreads a broadcast out into deliveries, page by page; whoever takes it up later goes on where this one stopped. */
export async function spreadBroadcast(broadcast: Broadcast, { desk, findChannel, isClosed }: Spreading): Promise<void> {
  const { via, agent, relation, until } = broadcast
  let { after } = broadcast
  while (!isClosed()) {
    const listed = await desk.listRelations({ via, agent, relation, limit: pageSize, after })
    const page = listed.filter(({ place }) => place <= until)
    const deliveries = findChannel(via)?.spread?.(broadcast, page) ?? []
    const isDone = page.length < pageSize
    after = page.at(-1)?.place ?? after
    await desk.spread(broadcast, deliveries, { after, isDone })
    if (isDone) return
  }
}
