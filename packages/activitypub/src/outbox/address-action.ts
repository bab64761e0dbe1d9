import type {
  Addressing,
  OutgoingAction,
  PlannedBroadcast,
  PlannedDelivery,
  PostAction,
  ReactionAction,
  Relation,
  RevisionAction,
} from '@postern/core'
import { postIri } from '../format/own-iris.ts'
import type { FollowerTarget } from '../format/reply-target.ts'
import { readReplyTarget, toJson } from '../format/reply-target.ts'
import type { Revision } from '../format/revision.ts'
import { isOpen } from '../format/visibility.ts'
import { countCallable, findCalled, ownNames } from '../posts/people-called.ts'
import { countPieces } from '../posts/pieces.ts'
import { renderReaction } from '../posts/render-reaction.ts'
import type { Rendering } from '../posts/rendering.ts'
import { readRendering, toRenderingJson } from '../posts/rendering.ts'
import { mentionLength } from '../words/mention-link.ts'
import type { AddressDeps, Place } from './address-answer.ts'
import { addressPieces, aliasesOf, deliver, mentionPlaces, replyPlaces, shortest } from './address-answer.ts'

/** An agent's action as deliveries and broadcasts; undefined when it cannot be done. Pure. */
export function addressAction(action: OutgoingAction, gateway: AddressDeps): Addressing | undefined {
  if ('target' in action)
    return 'response' in action ? addressRevision(action, gateway) : addressReaction(action, gateway)
  return addressPost(action, gateway)
}

/** Shorter than any server of the network cuts: what followers read is not made for one of them. */
function addressPost(
  { agent, response, chain }: PostAction,
  { origin, postLimitOf, maxMentions }: AddressDeps,
): Addressing | undefined {
  const { visibility = 'public' } = response
  const callable = countCallable(visibility, chain, maxMentions)
  const called = findCalled(response, { callable }, { own: ownNames(agent, response.sender, origin) })
  if (visibility === 'direct' && called.chosen.length === 0) return undefined
  const limit = Math.max(shortest, postLimitOf(undefined) - mentionLength(called.chosen.map(name => ({ name }))))
  const pieces = countPieces(response.parts, limit)
  const rendering: Rendering = { visibility, pieces, ...(pieces > 1 && { limit }), ...(callable > 0 && { callable }) }
  return {
    deliveries: addressPieces(pieces, deliver(mentionPlaces(called))),
    broadcasts: broadcastPieces(rendering),
    aliases: aliasesOf(postIri(origin, agent, response.id), pieces),
    isListed: isOpen(visibility),
    rendering: toRenderingJson(rendering),
  }
}

/** To all who got what is changed. */
function addressRevision(
  { act, agent, id, at, response, target, message, rendering }: RevisionAction,
  { origin }: AddressDeps,
): Addressing {
  const rendered = readRendering(rendering, target, response)
  const revision: Revision = { act, id, at }
  const deliveries = addressPieces(
    rendered.pieces,
    deliver(placesOf(rendered, response, ownNames(agent, message.recipient, origin)), { revision }),
  )
  return { deliveries, aliases: [], broadcasts: rendered.reply ? [] : broadcastPieces(rendered, revision) }
}

function placesOf(
  rendering: Rendering,
  response: RevisionAction['response'],
  own: readonly string[],
): readonly Place[] {
  const { reply, visibility } = rendering
  const called = findCalled(response, rendering, { own, author: reply?.address })
  return reply ? replyPlaces(reply, called, isOpen(visibility)) : mentionPlaces(called)
}

function broadcastPieces({ visibility, pieces }: Rendering, revision?: Revision): readonly PlannedBroadcast[] {
  if (visibility === 'direct') return []
  return Array.from({ length: pieces }, (_, piece) => {
    const target = { ...(piece > 0 && { piece }), ...(revision && { revision }) }
    return { relation: 'follower', target: toJson(target) }
  })
}

const boosts: ReadonlySet<string> = new Set(['boost', 'unboost'])

/** Only public posts can be boosted; only posts can be liked. */
function addressReaction(
  { act, agent, at, target: json }: ReactionAction,
  { origin }: AddressDeps,
): Addressing | undefined {
  // What an agent said unasked has no target.
  if (json === null) return undefined
  const target = readReplyTarget(json)
  const { object, inbox, actor } = target
  const isBoost = boosts.has(act)
  if (!object || !inbox || (isBoost && !isOpen(target.visibility))) return undefined
  const handshake = renderReaction(act, { origin, agent, at, target: { ...target, object } })
  const deliveries: PlannedDelivery[] = [{ to: inbox, peer: actor, target: toJson({ handshake, inbox, peer: actor }) }]
  const broadcasts: PlannedBroadcast[] = [{ relation: 'follower', target: toJson({ handshake }) }]
  return { deliveries, aliases: [], broadcasts: isBoost ? broadcasts : [] }
}

/** One delivery a server where it has an inbox for all of its people; it knows itself who of them follows. Pure. */
export function expandToFollowers(relations: readonly Relation[]): readonly PlannedDelivery[] {
  return relations.flatMap(({ peer, target }) => {
    const { inbox, sharedInbox } = target as unknown as FollowerTarget
    const to = sharedInbox ?? inbox
    // A delivery for many belongs to no peer: one peer that blocks the agent must not stop it for the others.
    const whose = sharedInbox ? {} : { peer }
    return to ? [{ to, target: toJson({ inbox: to, ...whose }), ...whose }] : []
  })
}
