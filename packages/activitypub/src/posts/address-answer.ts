import type {
  Addressing,
  AgentChain,
  AnsweredTurn,
  NormalizedMessage,
  NormalizedResponse,
  Part,
  PlannedDelivery,
  ShowRequirement,
} from '@postern/core'
import { hasRequirements, isFinalHop, presentResponse } from '@postern/core'
import { memoize } from '@postern/limits'
import type { DeliveryPlace, DeliveryTarget, Rendering, ReplyTarget } from '../format/own-posts.ts'
import {
  activityIri,
  isOpen,
  pieceId,
  postIri,
  readReplyTarget,
  replyVisibility,
  toJson,
  toRenderingJson,
} from '../format/own-posts.ts'
import { countVisible } from '../html/visible-length.ts'
import { cutMarkdown } from '../split/cut-markdown.ts'
import type { Cut } from '../split/cut-text.ts'
import { packParts } from '../split/pack-parts.ts'
import { mentionLength, normalizeName, partsToHtml, readNamedWords } from '../words/words.ts'

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
  const pieces = splitOnce(shown.parts, limit).length
  const rendering: Rendering = {
    reply,
    visibility,
    pieces,
    ...(pieces > 1 && { limit }),
    ...(callable > 0 && { callable }),
  }
  return {
    deliveries: addressPieces(pieces, replyPlaces(reply, called, isListed)),
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

/**
 * The deliveries to each destination, one piece after the other, so that each finds the one it answers. `more`: further data for their
 * rendering.
 */
export function addressPieces(
  pieces: number,
  places: readonly Place[],
  more: Partial<DeliveryTarget> = {},
): readonly PlannedDelivery[] {
  return Array.from({ length: pieces }, (_, piece) =>
    places.map(({ to, peer, target }) => {
      const json = toJson({ ...target, ...(piece > 0 && { piece }), ...more } as DeliveryTarget)
      return { to, ...(peer && { peer }), target: json }
    }),
  ).flat()
}

export function aliasesOf(post: string, pieces: number): readonly string[] {
  const posts = Array.from({ length: pieces }, (_, piece) => pieceId(post, piece))
  return posts.flatMap(iri => [iri, activityIri(iri)])
}

/** The shared inbox is for posts that everyone on that server may see. */
function inboxFor({ inbox, sharedInbox }: ReplyTarget, isForAll: boolean): string | undefined {
  return (isForAll ? sharedInbox : undefined) ?? inbox
}

const maxMentions = 20

/** People whom a response mentions besides the author it answers. */
interface Called {
  /** Those in its `mentions`. */
  readonly chosen: readonly string[]
  /** Further ones that its words name. */
  readonly named: readonly string[]
}

/**
 * How many people the words of a response may call: none where it is for some only, who did not ask for others to read along; none at the end
 * of a chain of agents (MN-8.3). Pure.
 */
export function countCallable(
  visibility: Rendering['visibility'],
  chain: AgentChain | undefined,
  most: number,
): number {
  return isOpen(visibility) && !isFinalHop(chain) ? most : 0
}

/** People whom a response reaches in any case. */
interface Reached {
  /** The names of the agent itself, as `ownNames` gives them. */
  readonly own: readonly string[]
  /** The author that it answers. */
  readonly author?: string | undefined
}

/**
 * Words call no agent of this gateway: a report names whoever it was asked of (`@one@agents.example: done`), which would ask them again. An
 * agent wakes another one by `mentions`. Pure.
 */
export function findCalled(
  { mentions, parts }: Pick<NormalizedResponse, 'mentions' | 'parts'>,
  { callable = 0 }: Pick<Rendering, 'callable'>,
  { own, author }: Reached,
): Called {
  const known = [author, ...own]
  const chosen = othersMentioned(mentions, known)
  const left = Math.max(0, callable - chosen.length)
  if (left === 0) return { chosen, named: [] }
  const hosts = new Set(own.map(hostOfName))
  const strangers = readNamedWords(parts).names.filter(name => !hosts.has(hostOfName(name)))
  return { chosen, named: othersMentioned(strangers, [...known, ...chosen]).slice(0, left) }
}

/** The host of `@user@host`. */
function hostOfName(name: string): string {
  return name.slice(name.lastIndexOf('@') + 1).toLowerCase()
}

/** An agent goes by the domain of its handle and by the host of its actor: it does not wake itself by either. */
export function ownNames(agent: string, address: string, origin: string): readonly string[] {
  return [address, `@${agent}@${new URL(origin).hostname}`]
}

/** Those an answer mentions, once each, without whom it goes to anyway. */
export function othersMentioned(
  mentions: readonly string[] = [],
  known: readonly (string | undefined)[] = [],
): readonly string[] {
  const named = mentions.map(
    mention => normalizeName(mention) ?? `@${mention.replace(/^(acct:)?@?/i, '').toLowerCase()}`,
  )
  return [...new Set(named)].filter(mention => !known.includes(mention)).slice(0, maxMentions)
}

/** The parts of one piece; undefined when there is none (any more): other words may be fewer. */
export function partsOfPiece(
  parts: readonly Part[],
  { pieces, limit }: Pick<Rendering, 'pieces' | 'limit'>,
  piece: number,
): readonly Part[] | undefined {
  if (pieces === 1 || limit === undefined) return piece === 0 ? parts : undefined
  const split = splitOnce(parts, limit)
  // A thread that has been sent does not grow: its last post holds the rest.
  return piece === pieces - 1 && split.length > pieces ? split.slice(piece).flat() : split[piece]
}

const maxPieces = 20
/** Less is no thread: an address and a few words have to fit. */
const minLimit = 40

/**
 * The parts of the limit that pieces may fill. The next one counts when a piece turns out longer than the sum of its parts: marks of
 * emphasis or code mean something else beside others.
 */
const shares = [1, 0.9]

type Pieces = readonly (readonly Part[])[]

const remember = memoize<Pieces>()

/**
 * Cuts an answer into the pieces of a thread. Each has at most `limit` characters (no less than 40), as `countVisible`
 * counts what a reader sees. An answer that fits is one piece, unchanged. Parts that are no text stay whole and in
 * place, even when one is longer. There are at most 20 pieces; the last holds the rest, however long. Pure.
 */
export function splitParts(parts: readonly Part[], limit: number): Pieces {
  const maxChars = Math.max(limit, minLimit)
  const fits = (some: readonly Part[]) => countParts(some, maxChars) <= maxChars
  if (fits(parts)) return [parts]
  const isHeld = (piece: readonly Part[], at: number) =>
    at === maxPieces - 1 || piece.every(({ kind }) => kind !== 'text') || fits(piece)
  const cutInPieces = (share: number, cut?: Cut) =>
    packParts(parts, { limit: Math.floor(maxChars * share), maxPieces, measure: countParts, cutMarkdown: cut })
  for (const share of shares) {
    const pieces = cutInPieces(share, cutMarkdown)
    if (pieces.every(isHeld)) return pieces
  }
  // A piece cut as plain text is exactly as long as its words.
  return cutInPieces(1)
}

/**
 * As `splitParts`, with a memory. Each post of a thread is rendered from its piece whenever it is sent or read, and a
 * text that strangers choose may take a second to split.
 */
export function splitOnce(parts: readonly Part[], limit: number): Pieces {
  return remember(JSON.stringify([limit, parts]), () => splitParts(parts, limit))
}

function countParts(parts: readonly Part[], max: number): number {
  return countVisible(partsToHtml({ parts: [...parts], status: 'completed' }), max)
}

const elsewhere = 'How to go on is not said in public. Write to me again, in a direct message.'

/**
 * An answer as its audience may read it: only direct posts hold the means of a decision. A public answer stays public
 * and refers to the direct one.
 */
export function presentPost(
  response: NormalizedResponse,
  message: Pick<NormalizedMessage, 'sender'>,
  { visibility }: Pick<Rendering, 'visibility'>,
  show: ShowRequirement | undefined,
): NormalizedResponse {
  if (visibility === 'direct') return presentResponse(response, message, show)
  const presented = presentResponse(response, message, undefined)
  if (!hasRequirements(response.parts)) return presented
  return { ...presented, parts: [...presented.parts, { kind: 'text', mime: 'text/plain', content: elsewhere }] }
}
