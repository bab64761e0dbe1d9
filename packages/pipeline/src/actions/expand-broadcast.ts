// Expands a post to all followers into single deliveries.
import type { System } from '@postern/message'
import type { Channel } from '../ports/channel/channel.ts'
import { findChannel } from '../ports/channel/channel.ts'
import type { PlannedDelivery } from '../ports/records/planned-delivery.ts'
import type { Relation } from '../ports/records/relation.ts'
import type { Broadcast } from '../ports/records/work/delivery.ts'
import type { RelationStore } from '../ports/store/relation-store.ts'
import type { ResultStore } from '../ports/store/work-store.ts'

/** The number of peers whose deliveries are queued in one transaction. It is small, so that other work is not blocked for long. */
const pageSize = 200

export interface BroadcastExpansion {
  readonly store: Pick<RelationStore, 'listRelations'>
  readonly results: Pick<ResultStore, 'expand'>
  readonly channels: readonly Channel[]
  readonly system: Pick<System, 'log'>
  isClosed(): boolean
}

/** Expands a broadcast into deliveries, page by page. A later lease continues after the last stored page. */
export async function expandBroadcast(
  broadcast: Broadcast,
  { store, results, channels, isClosed, system }: BroadcastExpansion,
): Promise<void> {
  const { via, agent, relation, lastPeer } = broadcast
  let { lastQueuedPeer: after } = broadcast
  while (!isClosed()) {
    const relations = await store.listRelations({ via, agent, relation, limit: pageSize, after })
    const page = relations.filter(({ number }) => number <= lastPeer)
    const deliveries = planPage(broadcast, page, { channels, system })
    const isDone = deliveries === undefined || page.length < pageSize
    after = page.at(-1)?.number ?? after
    await results.expand(broadcast, deliveries ?? [], { after, isDone })
    if (isDone) return
  }
}

/** Plans the deliveries for one page of peers. Returns undefined if the broadcast cannot be expanded, which a retry would not change. */
function planPage(
  broadcast: Broadcast,
  page: readonly Relation[],
  { channels, system }: Pick<BroadcastExpansion, 'channels' | 'system'>,
): readonly PlannedDelivery[] | undefined {
  const { id, via, agent } = broadcast
  try {
    const deliveries = findChannel(channels, via)?.actions?.expand?.(broadcast, page)
    if (!deliveries) system.log.error({ broadcast: id, via, agent }, 'a broadcast ends: its channel is not open')
    return deliveries
  } catch (error) {
    system.log.error({ broadcast: id, via, agent, err: error }, 'a broadcast ends: it cannot be spread')
    return undefined
  }
}
