import type { Platform, RelationStore } from '@postern/core'
import { createExpiringMap } from '../cache/expiring-map.ts'
import type { DeliveryTarget, FollowerTarget } from '../format/reply-target.ts'
import type { DeletedActors } from './deleted-actors.ts'

const pageSize = 200
/** The time between two checks of all followers of an agent. An inbox that fails within it is checked at once. */
const restMs = 5_000
/** A shared inbox is looked for so often, and of so many it is known. */
const lookedMs = 3_600_000
const maxInboxes = 10_000

interface UnreachableInboxDeps {
  readonly store: Pick<RelationStore, 'listRelations'>
  readonly deletedActors: DeletedActors
  readonly platform: Pick<Platform, 'now' | 'sleep'>
}

/** Handles an inbox that does not exist (any more): checks its actor, or all followers who share it. Never throws. */
export function createUnreachableInboxes({
  store,
  deletedActors,
  platform,
}: UnreachableInboxDeps): (agent: string, target: DeliveryTarget) => void {
  const looked = createExpiringMap<true>(maxInboxes, () => platform.now())
  /** By agent; strangers make up as many inboxes as they like, and each look passes every follower. */
  const lost = new Map<string, Set<string>>()

  async function checkFollowers(agent: string, inboxes: ReadonlySet<string>): Promise<void> {
    for (let after: number | undefined = 0; after !== undefined; ) {
      const page = await store.listRelations({
        via: 'activitypub',
        agent,
        relation: 'follower',
        limit: pageSize,
        after,
      })
      const sharing = page.filter(({ target }) => inboxes.has((target as unknown as FollowerTarget).sharedInbox ?? ''))
      for (const { peer } of sharing) await deletedActors.check(peer)
      after = page.length === pageSize ? page.at(-1)?.place : undefined
      // Others get their turn between two pages.
      await platform.sleep(0)
    }
  }

  async function checkLost(agent: string, waiting: Set<string>): Promise<void> {
    while (waiting.size > 0) {
      const inboxes = new Set(waiting)
      waiting.clear()
      await checkFollowers(agent, inboxes).catch(() => undefined)
      await platform.sleep(restMs)
    }
    lost.delete(agent)
  }

  function lookFor(agent: string, inbox: string): void {
    const name = `${agent} ${inbox}`
    if (looked.get(name)) return
    looked.set(name, true, lookedMs)
    const waiting = lost.get(agent)
    if (waiting) {
      waiting.add(inbox)
      return
    }
    const begun = new Set([inbox])
    lost.set(agent, begun)
    void checkLost(agent, begun)
  }

  return (agent, target) => {
    if (!('inbox' in target)) return
    const { inbox, peer } = target
    if (peer) void deletedActors.check(peer)
    else lookFor(agent, inbox)
  }
}
