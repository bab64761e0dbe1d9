import type { RelationDesk } from '@postern/core'
import type { GonePeers } from './gone-peer.ts'
import type { DeliveryTarget, FollowerTarget } from './reply-target.ts'

const pageSize = 200

export interface LostInboxParts {
  readonly desk: Pick<RelationDesk, 'listRelations'>
  readonly gonePeers: GonePeers
}

/**
 * What follows when an inbox is not there (any more): the actor it belongs to is looked after, or all followers who share
 * it. Never throws.
 */
export function createLostInboxes({
  desk,
  gonePeers,
}: LostInboxParts): (agent: string, target: DeliveryTarget) => void {
  async function checkFollowers(agent: string, inbox: string): Promise<void> {
    for (let after: number | undefined = 0; after !== undefined; ) {
      const page = await desk.listRelations({ via: 'activitypub', agent, relation: 'follower', limit: pageSize, after })
      const sharing = page.filter(({ target }) => (target as unknown as FollowerTarget).sharedInbox === inbox)
      for (const { peer } of sharing) await gonePeers.check(peer)
      after = page.length === pageSize ? page.at(-1)?.place : undefined
    }
  }

  return (agent, target) => {
    if (!('inbox' in target)) return
    const { inbox, peer } = target
    void (peer ? gonePeers.check(peer) : checkFollowers(agent, inbox).catch(() => undefined))
  }
}
