// Finds the actors to check after an inbox answered that it does not exist: its owner, or the followers who share it.
import { createExpiringMap } from '@postern/limits'
import type { System } from '@postern/message'
import type { RelationStore } from '@postern/pipeline'
import type { DeliveryTarget, FollowerTarget } from '../format/post-data.ts'
import type { CheckDeleted } from './deleted-actors.ts'

const pageSize = 200
/** The pause between two checks of all followers of an agent, ms. An inbox that fails during the pause is checked right after it. */
const pauseMs = 5_000
/** The time during which a shared inbox is not checked again, ms. */
const checkedTtlMs = 3_600_000
const maxInboxes = 10_000

interface UnreachableInboxDeps {
  readonly store: Pick<RelationStore, 'listRelations'>
  readonly checkDeleted: CheckDeleted
  readonly system: Pick<System, 'now' | 'sleep'>
}

/**
 * Creates the handler for an inbox that answers 404 or 410. It checks the actor of the inbox, or all followers who share it. It
 * never throws.
 */
export function createUnreachableInboxHandler({
  store,
  checkDeleted,
  system,
}: UnreachableInboxDeps): (agent: string, target: DeliveryTarget) => void {
  const checkedInboxes = createExpiringMap<true>(maxInboxes, () => system.now())
  /**
   * The inboxes to check, by agent. They are checked together, because strangers can invent any number of inboxes and each check reads all
   * followers.
   */
  const pendingInboxes = new Map<string, Set<string>>()

  async function checkFollowers(agent: string, inboxes: ReadonlySet<string>): Promise<void> {
    const query = { via: 'activitypub', agent, relation: 'follower', limit: pageSize } as const
    for (let cursor: number | undefined = 0; cursor !== undefined; ) {
      const page = await store.listRelations({ ...query, after: cursor })
      const sharingFollowers = page.filter(({ target }) =>
        inboxes.has((target as unknown as FollowerTarget).sharedInbox ?? ''),
      )
      for (const { peer } of sharingFollowers) await checkDeleted(peer)
      cursor = page.length === pageSize ? page.at(-1)?.number : undefined
      // Other work can run between two pages.
      await system.sleep(0)
    }
  }

  async function checkPending(agent: string, agentInboxes: Set<string>): Promise<void> {
    while (agentInboxes.size > 0) {
      const inboxes = new Set(agentInboxes)
      agentInboxes.clear()
      await checkFollowers(agent, inboxes).catch(() => undefined)
      await system.sleep(pauseMs)
    }
    pendingInboxes.delete(agent)
  }

  function scheduleCheck(agent: string, inbox: string): void {
    const cacheKey = `${agent} ${inbox}`
    if (checkedInboxes.get(cacheKey)) return
    checkedInboxes.set(cacheKey, true, checkedTtlMs)
    const agentInboxes = pendingInboxes.get(agent)
    if (agentInboxes) {
      agentInboxes.add(inbox)
      return
    }
    const newAgentInboxes = new Set([inbox])
    pendingInboxes.set(agent, newAgentInboxes)
    void checkPending(agent, newAgentInboxes)
  }

  return (agent, target) => {
    if (!('inbox' in target)) return
    const { inbox, peer } = target
    if (peer) void checkDeleted(peer)
    else scheduleCheck(agent, inbox)
  }
}
