import type { Addressing, AnsweredTurn, PlannedDelivery, ShowRequirement } from '@postern/core'
import { activityIri, postIri } from '../format/own-iris.ts'
import type { DeliveryPlace, DeliveryTarget, ReplyTarget } from '../format/reply-target.ts'
import { readReplyTarget, toJson } from '../format/reply-target.ts'
import { isOpen, replyVisibility } from '../format/visibility.ts'
import type { Called } from '../posts/people-called.ts'
import { countCallable, findCalled, ownNames } from '../posts/people-called.ts'
import { countPieces, pieceId } from '../posts/pieces.ts'
import { presentPost } from '../posts/present.ts'
import type { Rendering } from '../posts/rendering.ts'
import { toRenderingJson } from '../posts/rendering.ts'
import { mentionLength } from '../words/mention-link.ts'

export interface AddressDeps {
  readonly origin: string
  /** The longest post the server of this inbox likes, in visible characters. */
  postLimitOf(inbox: string | undefined): number
  readonly showRequirement?: ShowRequirement | undefined
  /** People that one answer may call. */
  readonly maxMentions: number
}

/** An answer goes to the author's inbox, and to each one it mentions. Pure. */
export function addressAnswer(
  { turn, response }: AnsweredTurn,
  { origin, postLimitOf, showRequirement, maxMentions }: AddressDeps,
): Addressing {
  const reply = readReplyTarget(turn.target)
  const visibility = replyVisibility(reply.visibility, response.visibility)
  const isListed = isOpen(visibility)
  const { agent_chain: chain } = turn.content.recipient_capabilities
  const callable = countCallable(visibility, chain, maxMentions)
  const shown = presentPost(response, turn.content, { visibility }, showRequirement)
  const own = ownNames(turn.agent, turn.content.recipient, origin)
  const called = findCalled(shown, { callable }, { own, author: reply.address })
  const before = [{ name: reply.address ?? '' }, ...called.chosen.map(name => ({ name }))]
  const limit = Math.max(shortest, postLimitOf(reply.inbox) - mentionLength(before))
  const pieces = countPieces(shown.parts, limit)
  const rendering: Rendering = {
    reply,
    visibility,
    pieces,
    ...(pieces > 1 && { limit }),
    ...(callable > 0 && { callable }),
  }
  return {
    deliveries: addressPieces(pieces, deliver(replyPlaces(reply, called, isListed))),
    aliases: aliasesOf(postIri(origin, turn.agent, response.id), pieces),
    isListed,
    rendering: toRenderingJson(rendering),
  }
}

/** However many people the response names, some room for words remains. */
export const shortest = 100

/** The destination of one post. */
export interface Place {
  readonly to: string
  readonly peer?: string | undefined
  readonly target: DeliveryPlace
}

/** The places of an answer: its author's inbox, and those it mentions. */
export function replyPlaces(reply: ReplyTarget, called: Called, isForAll: boolean): readonly Place[] {
  const inbox = inboxFor(reply, isForAll)
  const author: Place[] = inbox ? [{ to: inbox, peer: reply.actor, target: { inbox, peer: reply.actor } }] : []
  return [...author, ...mentionPlaces(called)]
}

export function mentionPlaces({ chosen, named }: Called): readonly Place[] {
  return [
    ...chosen.map(mention => ({ to: mention, target: { mention } })),
    ...named.map(mention => ({ to: mention, target: { mention, isNamed: true } as const })),
  ]
}

type AddressPiece = (piece: number) => readonly PlannedDelivery[]

/** One after the other, so that each finds the one it answers. */
export function addressPieces(pieces: number, address: AddressPiece): readonly PlannedDelivery[] {
  return Array.from({ length: pieces }, (_, piece) => address(piece)).flat()
}

/** The deliveries of a piece to each destination. `more`: further data for its rendering. */
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

/** The shared inbox is for posts that everyone on that server may see. */
function inboxFor({ inbox, sharedInbox }: ReplyTarget, isForAll: boolean): string | undefined {
  return (isForAll ? sharedInbox : undefined) ?? inbox
}
