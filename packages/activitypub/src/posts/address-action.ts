// Plans the deliveries and broadcasts of an agent's post, edit, deletion or reaction.
import type { ActRefusal, Json, OutgoingAction, PostAction, ReactionAction, RevisionAction } from '@postern/message'
import { refuseAct } from '@postern/message'
import type { Addressing, PlannedBroadcast, PlannedDelivery, Relation } from '@postern/pipeline'
import { postIri } from '../format/own-iris.ts'
import type { DeliveryContent, DeliveryDestination, FollowerTarget, Rendering, Revision } from '../format/post-data.ts'
import { readRendering, readReplyTarget, toStoredJson } from '../format/targets.ts'
import { isReadableByEveryone } from '../format/visibility.ts'
import { countMentionChars } from '../text/mention.ts'
import { countAllowedTextMentions, listOwnAddresses, selectMentions } from '../text/select-mentions.ts'
import type { AddressDeps } from './address-answer.ts'
import { minPostTextChars } from './address-answer.ts'
import type { Destination } from './destinations.ts'
import { listMentionDestinations, listPostAliases, listReplyDestinations, planPieceDeliveries } from './destinations.ts'
import { countPieces } from './pieces.ts'
import { renderReaction } from './render-reaction.ts'

/** Plans an agent's action as deliveries and broadcasts, or returns a refusal if the action cannot be done. It is pure. */
export function addressAction(action: OutgoingAction, deps: AddressDeps): Addressing | ActRefusal {
  if ('target' in action) return 'response' in action ? addressRevision(action, deps) : addressReaction(action, deps)
  return addressPost(action, deps)
}

const noRecipients = refuseAct(
  'no_recipient',
  'Cannot post to some people alone: it names nobody who may be called. Name whom it is for in "mentions"',
)

/** Plans the deliveries of a new post. Its parts have a length that every server accepts, because followers are on many servers. */
function addressPost(
  { agent, response, chain }: PostAction,
  { origin, findPostLimitChars, maxMentions }: AddressDeps,
): Addressing | ActRefusal {
  const { visibility = 'public' } = response
  const maxTextMentions = countAllowedTextMentions(visibility, chain, maxMentions)
  const mentions = selectMentions(
    response,
    { callable: maxTextMentions },
    { ownAddresses: listOwnAddresses(agent, response.sender, origin) },
  )
  if (visibility === 'direct' && mentions.chosenMentions.length === 0) return noRecipients
  const limitChars = Math.max(
    minPostTextChars,
    findPostLimitChars(undefined) - countMentionChars(mentions.chosenMentions.map(name => ({ name }))),
  )
  const pieces = countPieces(response.parts, limitChars)
  const rendering: Rendering = {
    visibility,
    pieces,
    ...(pieces > 1 && { limit: limitChars }),
    ...(maxTextMentions > 0 && { callable: maxTextMentions }),
  }
  return {
    deliveries: planPieceDeliveries(pieces, listMentionDestinations(mentions)),
    broadcasts: planBroadcasts(rendering),
    aliases: listPostAliases(postIri(origin, agent, response.id), pieces),
    isListed: isReadableByEveryone(visibility),
    rendering: toStoredJson(rendering),
  }
}

/** Plans the deliveries of a change to everyone who received the original. */
function addressRevision(
  { act, agent, id, at, response, target, message, rendering }: RevisionAction,
  { origin }: AddressDeps,
): Addressing {
  const storedRendering = readRendering(rendering, target, response)
  const revision: Revision = { act, id, at }
  const deliveries = planPieceDeliveries(
    storedRendering.pieces,
    listRevisionDestinations(storedRendering, response, listOwnAddresses(agent, message.recipient, origin)),
    { revision },
  )
  return {
    deliveries,
    aliases: [],
    broadcasts: storedRendering.reply ? [] : planBroadcasts(storedRendering, revision),
  }
}

function listRevisionDestinations(
  rendering: Rendering,
  response: RevisionAction['response'],
  ownAddresses: readonly string[],
): readonly Destination[] {
  const { reply, visibility } = rendering
  const mentions = selectMentions(response, rendering, { ownAddresses, author: reply?.address })
  return reply
    ? listReplyDestinations(reply, mentions, { isPublic: isReadableByEveryone(visibility) })
    : listMentionDestinations(mentions)
}

function planBroadcasts({ visibility, pieces }: Rendering, revision?: Revision): readonly PlannedBroadcast[] {
  if (visibility === 'direct') return []
  return Array.from({ length: pieces }, (_, piece) => {
    const target = { ...(piece > 0 && { piece }), ...(revision && { revision }) }
    return { relation: 'follower', target: toStoredJson(target) }
  })
}

const boostActions: ReadonlySet<string> = new Set(['boost', 'unboost'])

/** Plans the deliveries of a reaction. Only public posts can be boosted, and only posts can be liked. */
function addressReaction(
  { act, agent, at, target: targetJson }: ReactionAction,
  { origin }: AddressDeps,
): Addressing | ActRefusal {
  if (targetJson === null) return refuseAct('unsupported', `Cannot ${act}: the agent said this itself`)
  const target = readReplyTarget(targetJson)
  const { object, inbox, sharedInbox, actor } = target
  const isBoost = boostActions.has(act)
  if (!object || !inbox) return refuseAct('unsupported', `Cannot ${act}: this message is no post of somebody`)
  if (isBoost && !isReadableByEveryone(target.visibility))
    return refuseAct('forbidden', `Cannot ${act}: the post is not public, and a boost would show it to others`)
  const handshake = renderReaction(act, { origin, agent, at, target: { ...target, object } })
  if (!isBoost) return { deliveries: [planDeliveryTo({ inbox, peer: actor }, handshake)], aliases: [], broadcasts: [] }
  // A boost is public, so one copy is enough for the author and all followers on the author's server.
  const destination = sharedInbox ? { inbox: sharedInbox } : { inbox, peer: actor }
  const broadcast = { relation: 'follower', target: toStoredJson({ handshake, except: destination.inbox }) } as const
  return { deliveries: [planDeliveryTo(destination, handshake)], aliases: [], broadcasts: [broadcast] }
}

function planDeliveryTo(
  destination: Extract<DeliveryDestination, { readonly inbox: string }>,
  handshake: Json,
): PlannedDelivery {
  const { inbox, peer } = destination
  return { to: inbox, ...(peer && { peer }), target: toStoredJson({ handshake, ...destination }) }
}

/**
 * Plans one delivery for each server with a shared inbox, because the server knows which of its people follow. The inbox that already has a copy
 * is left out. It is pure.
 */
export function expandToFollowers(
  { target: sharedTarget }: Pick<PlannedBroadcast, 'target'>,
  relations: readonly Relation[],
): readonly PlannedDelivery[] {
  const { except: excludedInbox } = (sharedTarget ?? {}) as unknown as DeliveryContent

  return relations.flatMap(({ peer, target }) => {
    const { inbox, sharedInbox } = target as unknown as FollowerTarget
    const inboxToUse = sharedInbox ?? inbox
    // A delivery to a shared inbox belongs to no peer, because one peer that blocks the agent must not stop the delivery for the others.
    const peerMember = sharedInbox ? {} : { peer }
    return inboxToUse && inboxToUse !== excludedInbox
      ? [{ to: inboxToUse, target: toStoredJson({ inbox: inboxToUse, ...peerMember }), ...peerMember }]
      : []
  })
}
