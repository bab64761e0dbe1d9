import type { Channel, ChannelContext } from '@postern/core'
import { createSender, defaultMaxMentions, renderUnsent } from '@postern/core'
import { createKeyIntroductions } from './actors/key-introductions.ts'
import type { ChannelDeps } from './channel-deps.ts'
import type { ActivityPubConfig } from './config.ts'
import { createFindBytes, deliverActivity } from './deliver.ts'
import { findHost } from './format/iri.ts'
import { previewReplyTarget } from './format/reply-target.ts'
import { addressAction, expandToFollowers } from './outbox/address-action.ts'
import { addressAnswer } from './outbox/address-answer.ts'
import { createDeletedActors } from './peers/deleted-actors.ts'
import type { PeerLimits } from './peers/peer-limits.ts'
import { createPeerLimits } from './peers/peer-limits.ts'
import { createUnreachableInboxes } from './peers/unreachable-inboxes.ts'
import { createDeliveryRenderer, describeOutgoing } from './posts/outgoing.ts'
import { activityPubDescriptor } from './speaker.ts'

type Outgoing = ReturnType<typeof createSender> & Pick<Channel, 'addressAction' | 'expand' | 'preview'>

/** The way out: signed posts and activities to the inboxes of peers. */
export function createOutbound(
  config: ActivityPubConfig,
  { fileAddress, showRequirement, maxMentions = defaultMaxMentions }: ChannelContext,
  deps: ChannelDeps,
): Outgoing {
  const { platform, store, agents, origin, now, send, fetchDocument, foreignInboxes } = deps
  const limits = createPeerLimits({ fetch: platform.fetch, now })
  const addressing = { origin, postLimitOf: createPostLimits(config.split_posts, limits), showRequirement, maxMentions }
  const deletedActors = createDeletedActors({ fetchDocument, store, platform })
  const delivering = {
    ...deps,
    limits,
    introductions: createKeyIntroductions({ agents, platform, send, gateway: { origin, follows: config.follows } }),
    findBytes: createFindBytes(deps),
    onGone: createUnreachableInboxes({ store, deletedActors, platform }),
  }
  const sender = createSender({
    descriptor: activityPubDescriptor,
    address: answered => addressAnswer(answered, addressing),
    render: createDeliveryRenderer({ origin, fileAddress, showRequirement }, now),
    describe: describeOutgoing,
    deliver: (wire, delivery) =>
      foreignInboxes.watchDelivery(delivery, () => deliverActivity(wire, delivery, delivering)),
  })
  return {
    ...sender,
    preview: ({ turn, response }) =>
      renderUnsent(sender, { turn: { ...turn, target: previewReplyTarget(turn.content) }, response }),
    addressAction: action => addressAction(action, addressing),
    expand: (_, relations) => expandToFollowers(relations),
  }
}

/** Without splitting, posts may have any length. */
function createPostLimits(isSplit: boolean, limits: PeerLimits): (inbox: string | undefined) => number {
  return inbox => (isSplit ? limits.recall((inbox && findHost(inbox)) ?? '') : Number.MAX_SAFE_INTEGER)
}
