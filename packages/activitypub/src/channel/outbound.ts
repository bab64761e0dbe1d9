// Joins the steps that bring signed posts and activities to the inboxes of peers.

import type { Json, NormalizedMessage } from '@postern/message'
import { defaultMaxMentions, isJsonObject } from '@postern/message'
import type { Channel, ChannelContext, Delivery } from '@postern/pipeline'
import { createSender, renderUnsent } from '@postern/pipeline'
import type { ActorRemovalDeps } from '../actors/actor-removal.ts'
import { createActorRemoval } from '../actors/actor-removal.ts'
import { createKeyIntroductions } from '../actors/key-introductions.ts'
import type { ActivityPubConfig } from '../config.ts'
import { createActivityEncoder, deliverActivity } from '../deliver.ts'
import { findHost } from '../format/iri.ts'
import { readDeliveryTarget, toStoredJson } from '../format/targets.ts'
import { createDeletedCheck } from '../inboxes/deleted-actors.ts'
import type { ForeignDelivery } from '../inboxes/foreign-inbox-limits.ts'
import { createUnreachableInboxHandler } from '../inboxes/unreachable-inboxes.ts'
import type { PostLengthCache } from '../peers/post-length-cache.ts'
import { createPostLengthCache } from '../peers/post-length-cache.ts'
import { addressAction, expandToFollowers } from '../posts/address-action.ts'
import { addressAnswer } from '../posts/address-answer.ts'
import { createDeliveryRenderer, describeOutgoing } from '../posts/render-delivery.ts'
import { activityPubDescriptor } from '../speaker.ts'
import type { ChannelDeps } from './deps.ts'

/** Creates the outbound side of the channel. */
export function createOutbound(
  config: ActivityPubConfig,
  { fileAddress, showRequirement, maxMentions = defaultMaxMentions }: ChannelContext,
  deps: ChannelDeps & Pick<ActorRemovalDeps, 'isFormerAgent'>,
) {
  const { system, store, agents, origin, now, send, fetchDocument, foreignInboxes } = deps
  const limits = createPostLengthCache({ fetch: system.fetch, now })
  const addressing = {
    origin,
    findPostLimitChars: createPostLimitFinder(config, limits),
    showRequirement,
    maxMentions,
  }
  const checkDeleted = createDeletedCheck({ fetchDocument, store, system })
  const deliverDeps = {
    ...deps,
    limits,
    introductions: createKeyIntroductions({ agents, system, send, gateway: { origin, follows: config.follows } }),
    encodeActivity: createActivityEncoder(deps),
    handleMissingInbox: createUnreachableInboxHandler({ store, checkDeleted, system }),
  }
  const sender = createSender({
    descriptor: activityPubDescriptor,
    address: answered => addressAnswer(answered, addressing),
    render: createDeliveryRenderer({ origin, fileAddress, showRequirement }, now),
    describe: describeOutgoing,
    deliver(wire, delivery) {
      const deliverPost = () => deliverActivity(wire, delivery, deliverDeps)
      const foreignInbox = findForeignInbox(delivery)
      return foreignInbox ? foreignInboxes.limitDelivery(foreignInbox, deliverPost) : deliverPost()
    },
  })
  return {
    ...sender,
    diagnostics: {
      preview: ({ turn, response }) =>
        renderUnsent(sender, { turn: { ...turn, target: previewReplyTarget(turn.content) }, response }),
    },
    actions: {
      address: action => addressAction(action, addressing),
      expand: expandToFollowers,
      announceRemoval: createActorRemoval(deps),
      isRemovalNotice: target => isJsonObject(target) && target.isFarewell === true,
    },
  } satisfies Partial<Channel>
}

/** Returns the owner and host of a delivery's inbox if the inbox is on another host than its owner, else undefined. */
function findForeignInbox(delivery: Delivery): ForeignDelivery | undefined {
  const target = readDeliveryTarget(delivery)
  if (!('inbox' in target) || target.peer === undefined) return undefined
  const host = findHost(target.inbox)
  if (host === undefined || host === findHost(target.peer)) return undefined
  return { peer: target.peer, host, isBroadcast: delivery.broadcast !== undefined }
}

/** Creates the function that returns the length of the longest post for an inbox. If posts are not split, there is no limit. */
function createPostLimitFinder(
  { split_posts: splitsPosts }: Pick<ActivityPubConfig, 'split_posts'>,
  limits: PostLengthCache,
): (inbox: string | undefined) => number {
  return inbox => (splitsPosts ? limits.findPostLength((inbox && findHost(inbox)) ?? '') : Number.MAX_SAFE_INTEGER)
}

/**
 * Returns the target of a response to a message of another channel, as if its sender had written a direct post to the
 * agent.
 */
function previewReplyTarget({ sender: { address } }: Pick<NormalizedMessage, 'sender'>): Json {
  const [, name = 'sender', host = 'example.org'] = /^@([^@\s]{1,200})@([\w.:-]{1,253})$/.exec(address) ?? []
  const actor = `https://${host}/@${encodeURIComponent(name)}`
  return toStoredJson({ actor, address: `@${name}@${host}`, inbox: `${actor}/inbox`, visibility: 'direct' })
}
