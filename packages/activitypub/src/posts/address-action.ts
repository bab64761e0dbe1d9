import { hash } from 'node:crypto'
import type {
  Addressing,
  Json,
  OutgoingAction,
  PlannedBroadcast,
  PlannedDelivery,
  PostAction,
  Reaction,
  ReactionAction,
  Relation,
  RevisionAction,
} from '@postern/core'
import {
  activityStreams,
  agentIris,
  isOpen,
  postIri,
  publicCollection,
  readRendering,
  readReplyTarget,
  toJson,
} from '../format/document.ts'
import type { FollowerTarget, Rendering, ReplyTarget, Revision } from '../format/post-data.ts'
import { countCallable, findCalled, mentionLength, ownNames } from '../words/words.ts'
import type { AddressDeps, Place } from './answers.ts'
import { addressPieces, aliasesOf, countPieces, mentionPlaces, replyPlaces, shortest } from './answers.ts'

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
    deliveries: addressPieces(pieces, mentionPlaces(called)),
    broadcasts: broadcastPieces(rendering),
    aliases: aliasesOf(postIri(origin, agent, response.id), pieces),
    isListed: isOpen(visibility),
    rendering: toJson(rendering),
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
    placesOf(rendered, response, ownNames(agent, message.recipient, origin)),
    { revision },
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

interface Reacted {
  readonly origin: string
  readonly agent: string
  readonly target: ReplyTarget & { readonly object: string }
  /** ISO 8601 UTC. */
  readonly at: string
}

type ActivityMembers = { readonly [name: string]: Json }

/** The activity of a reaction. Its id follows from what it is to, so that doing it twice is doing it once. Pure. */
function renderReaction(reaction: Reaction, reacted: Reacted): Json {
  return { '@context': activityStreams, ...renderers[reaction](reacted) }
}

const renderers: { readonly [R in Reaction]: (reacted: Reacted) => ActivityMembers } = {
  like: renderLike,
  boost: renderBoost,
  unlike: reacted => undo(renderLike(reacted), reacted),
  unboost: reacted => undo(renderBoost(reacted), reacted),
}

function renderLike({ origin, agent, target }: Reacted): ActivityMembers {
  const { actor } = agentIris(origin, agent)
  return {
    id: `${actor}/likes/${nameOf(target.object)}`,
    type: 'Like',
    actor,
    to: [target.actor],
    object: target.object,
  }
}

function renderBoost({ origin, agent, target, at }: Reacted): ActivityMembers {
  const { actor, followers } = agentIris(origin, agent)
  const id = `${actor}/boosts/${nameOf(target.object)}`
  const audience = { to: [publicCollection], cc: [followers, target.actor] }
  return { id, type: 'Announce', actor, published: at, ...audience, object: target.object }
}

/** Servers that have forgotten the id can find it by its members. */
function undo({ '@context': _, ...done }: ActivityMembers, { at }: Reacted): ActivityMembers {
  const { id, actor = null, to = [], cc = [] } = done
  return { id: `${String(id)}/undo/${Date.parse(at)}`, type: 'Undo', actor, to, cc, object: done }
}

function nameOf(object: string): string {
  return hash('sha256', object).slice(0, 32)
}
