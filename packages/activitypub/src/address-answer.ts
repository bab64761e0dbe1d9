import type { Addressing, AnsweredTurn, PlannedDelivery, ShowDemand } from '@postern/core'
import { activityIri, postIri } from './own-iris.ts'
import { countPieces, pieceId } from './pieces.ts'
import { presentPost } from './present.ts'
import { mentionLength } from './render.ts'
import type { Rendering } from './rendering.ts'
import { toRenderingJson } from './rendering.ts'
import type { DeliveryPlace, DeliveryTarget, ReplyTarget } from './reply-target.ts'
import { readReplyTarget, toJson } from './reply-target.ts'
import { isOpen, replyVisibility } from './visibility.ts'

const maxMentions = 20

export interface AddressHouse {
  readonly origin: string
  /** The longest post the server of this inbox likes, in visible characters. */
  postLimitOf(inbox: string | undefined): number
  readonly showDemand?: ShowDemand | undefined
}

/** An answer goes to the author's inbox, and to each one it mentions. Pure. */
export function addressAnswer(
  { turn, response }: AnsweredTurn,
  { origin, postLimitOf, showDemand }: AddressHouse,
): Addressing {
  const reply = readReplyTarget(turn.target)
  const visibility = replyVisibility(reply.visibility, response.visibility)
  const isListed = isOpen(visibility)
  const others = othersMentioned(response.mentions, [
    reply.address,
    ...ownNames(turn.agent, turn.content.recipient, origin),
  ])
  const named = [{ name: reply.address ?? '' }, ...others.map(name => ({ name }))]
  const limit = Math.max(shortest, postLimitOf(reply.inbox) - mentionLength(named))
  const { parts } = presentPost(response, turn.content, { visibility }, showDemand)
  const pieces = countPieces(parts, limit)
  const rendering: Rendering = { reply, visibility, pieces, ...(pieces > 1 && { limit }) }
  return {
    deliveries: addressPieces(pieces, deliver(replyPlaces(reply, others, isListed))),
    aliases: aliasesOf(postIri(origin, turn.agent, response.id), pieces),
    isListed,
    rendering: toRenderingJson(rendering),
  }
}

/** However many people are named, there is room for words. */
export const shortest = 100

/** Where one post goes. */
export interface Place {
  readonly to: string
  readonly peer?: string | undefined
  readonly target: DeliveryPlace
}

/** The places of an answer: its author's inbox, and those it mentions. */
export function replyPlaces(reply: ReplyTarget, others: readonly string[], isForAll: boolean): readonly Place[] {
  const inbox = inboxFor(reply, isForAll)
  const author: Place[] = inbox ? [{ to: inbox, peer: reply.actor, target: { inbox, peer: reply.actor } }] : []
  return [...author, ...mentionPlaces(others)]
}

export function mentionPlaces(mentions: readonly string[]): readonly Place[] {
  return mentions.map(mention => ({ to: mention, target: { mention } }))
}

type AddressPiece = (piece: number) => readonly PlannedDelivery[]

/** One after the other, so that each finds the one it answers. */
export function addressPieces(pieces: number, address: AddressPiece): readonly PlannedDelivery[] {
  return Array.from({ length: pieces }, (_, piece) => address(piece)).flat()
}

/** The deliveries of a piece to each place. `more`: what else its rendering takes. */
export function deliver(places: readonly Place[], more: Partial<DeliveryTarget> = {}): AddressPiece {
  return piece =>
    places.map(({ to, peer, target }) => {
      const json = toJson({ ...target, ...(piece > 0 && { piece }), ...more } as DeliveryTarget)
      return { to, ...(peer && { peer }), target: json }
    })
}

export function aliasesOf(post: string, pieces: number): readonly string[] {
  const posts = Array.from({ length: pieces }, (_, piece) => pieceId(post, piece))
  return posts.flatMap(iri => [iri, activityIri(iri)])
}

/** The shared inbox is for what everybody on that server may see. */
function inboxFor({ inbox, sharedInbox }: ReplyTarget, isForAll: boolean): string | undefined {
  return (isForAll ? sharedInbox : undefined) ?? inbox
}

/** An agent goes by the domain of its handle and by the host of its actor: it does not wake itself by either. */
export function ownNames(agent: string, address: string, origin: string): readonly string[] {
  return [address, `@${agent}@${new URL(origin).hostname}`]
}

/** Those an answer mentions, once each, without whom it goes to anyway. */
export function othersMentioned(
  mentions: readonly string[] = [],
  known: readonly (string | undefined)[],
): readonly string[] {
  const named = mentions.map(mention => `@${mention.replace(/^(acct:)?@?/i, '').toLowerCase()}`)
  return [...new Set(named)].filter(mention => !known.includes(mention)).slice(0, maxMentions)
}
