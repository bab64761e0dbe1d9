import type {
  Addressing,
  AnsweredTurn,
  Delivery,
  Json,
  NormalizedMessage,
  NormalizedResponse,
  Part,
  PlannedDelivery,
  ShowRequirement,
} from '@postern/core'
import { hasRequirements, presentResponse, Undeliverable } from '@postern/core'
import { createExpiringMap } from '@postern/limits'
import {
  activityIri,
  activityStreams,
  agentIris,
  isOpen,
  pieceId,
  postIri,
  publicCollection,
  readDeliveryTarget,
  readRendering,
  readReplyTarget,
  replyVisibility,
  tagIri,
  toJson,
} from '../format/document.ts'
import type { DeliveryPlace, DeliveryTarget, Rendering, ReplyTarget, Revision } from '../format/post-data.ts'
import { splitOnce } from '../split/split-parts.ts'
import type { Called, LinkedWords, Mentioned } from '../words/words.ts'
import {
  countCallable,
  findCalled,
  linkWords,
  mentionLength,
  othersMentioned,
  ownNames,
  partsToHtmlOnce,
  tagKey,
  writeMention,
} from '../words/words.ts'
import type { AttachedPart, StoredAddress } from './attached.ts'
import { isShown, toDocument } from './attached.ts'

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
    deliveries: addressPieces(pieces, replyPlaces(reply, called, isListed)),
    aliases: aliasesOf(postIri(origin, turn.agent, response.id), pieces),
    isListed,
    rendering: toJson(rendering),
  }
}

/** How many posts parts take. Most answers are so short that nobody has to look how to divide them. */
export function countPieces(parts: readonly Part[], limit: number): number {
  const isShort = maxVisible(partsToHtmlOnce({ parts, status: 'completed' })) <= limit
  return isShort ? 1 : splitOnce(parts, limit).length
}

/** Own HTML has no more visible characters: a tag counts 3 at most, and an address 15 more than its shortest form has. */
function maxVisible(html: string): number {
  return html.replace(/<[^>]*>/g, '   ').length + 15 * (html.split(':').length - 1)
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
  // The shared inbox is for posts that everyone on that server may see.
  const inbox = (isForAll ? reply.sharedInbox : undefined) ?? reply.inbox
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

/** The data of a response that its rendering needs. */
export interface Answered {
  readonly origin: string
  /** The agent's name. */
  readonly agent: string
  readonly response: NormalizedResponse
  readonly rendering: Rendering
  /** The number of the post; default: the first. */
  readonly piece?: number | undefined
  /** Further people it speaks to, as far as they could be looked up. */
  readonly mentions?: readonly Mentioned[] | undefined
  /** ISO 8601 UTC: when it was last edited. */
  readonly editedAt?: string | undefined
  readonly fileAddress?: StoredAddress
}

export type JsonMembers = { readonly [name: string]: Json | undefined }

const postContext: Json = [
  activityStreams,
  {
    sensitive: 'as:sensitive',
    Hashtag: 'as:Hashtag',
    ostatus: 'http://ostatus.org#',
    conversation: 'ostatus:conversation',
  },
]

/** The `Create` that carries a post. Pure: the same answer is the same document, whenever it is rendered. */
export function renderCreate(answered: Answered): JsonMembers {
  const note = renderNote(answered)
  return carryNote(note, { id: activityIri(String(note.id)), type: 'Create', published: note.published })
}

/** The activity about a post, to whom the post goes. */
function carryNote({ '@context': context, ...note }: JsonMembers, { id, type, published }: JsonMembers): JsonMembers {
  const { attributedTo, to, cc } = note
  return { '@context': context, id, type, actor: attributedTo, published, to, cc, object: note }
}

/** The post itself, as it is served under its id. Pure. */
export function renderNote(answered: Answered): JsonMembers {
  const { agent, origin, response, rendering, piece = 0, editedAt } = answered
  const { reply } = rendering
  const id = idOfPiece(answered, piece)
  const parts = partsOfPiece(response.parts, rendering, piece) ?? []
  const mentioned = mentionedBy(answered)
  const words = writeWords(answered, parts, mentioned)
  const content = answered.piece ? words.html : withMentions(words, answered, mentioned)
  const attachment = parts.filter(isFile).flatMap(part => toDocument(part, answered.fileAddress))
  const summary = reply?.summary ?? response.subject
  return {
    '@context': postContext,
    id,
    type: 'Note',
    attributedTo: agentIris(origin, agent).actor,
    inReplyTo: piece > 0 ? idOfPiece(answered, piece - 1) : (reply?.object ?? null),
    ...(reply?.context && { context: reply.context }),
    ...(reply?.conversation && { conversation: reply.conversation }),
    published: response.created_at,
    ...(editedAt && { updated: editedAt }),
    url: id,
    ...renderAudience(answered),
    summary: summary ?? null,
    sensitive: reply?.sensitive === true || summary !== undefined,
    content,
    ...(reply?.language && { contentMap: { [reply.language]: content } }),
    tag: [
      ...mentioned.map(({ href, name }) => ({ type: 'Mention', href, name })),
      ...words.tags.map(tag => ({ type: 'Hashtag', href: tagIri(origin, agent, tagKey(tag)), name: `#${tag}` })),
    ],
    ...(attachment.length > 0 && { attachment }),
  }
}

export function idOfPiece({ origin, agent, response }: Answered, piece: number): string {
  return postIri(origin, agent, pieceId(response.id, piece))
}

/** The author of the answered post, then the others. */
function mentionedBy({ rendering: { reply }, mentions = [] }: Answered): readonly Mentioned[] {
  return reply ? [authorOf(reply), ...mentions] : mentions
}

function authorOf({ actor, address, url }: ReplyTarget): Mentioned {
  return { href: actor, name: address ?? actor, url: url ?? actor }
}

type Audience = { readonly to: readonly string[]; readonly cc: readonly string[] }

/** As Mastodon addresses each visibility. */
const audiences: Record<Rendering['visibility'], (followers: string, people: readonly string[]) => Audience> = {
  public: (followers, people) => ({ to: [publicCollection], cc: [followers, ...people] }),
  unlisted: (followers, people) => ({ to: [followers], cc: [publicCollection, ...people] }),
  followers: (followers, people) => ({ to: [followers], cc: people }),
  direct: (_, people) => ({ to: people, cc: [] }),
}

function renderAudience(answered: Answered): Audience {
  const { origin, agent, rendering } = answered
  const people = mentionedBy(answered).map(({ href }) => href)
  return audiences[rendering.visibility](agentIris(origin, agent).followers, people)
}

function isFile(part: Part): part is AttachedPart {
  return part.kind === 'file' || part.kind === 'artifact'
}

function writeWords(answered: Answered, parts: readonly Part[], mentioned: readonly Mentioned[]): LinkedWords {
  const { origin, agent, response, fileAddress } = answered
  const worded = parts.filter(part => !(isFile(part) && isShown(part, fileAddress)))
  const status = parts.length > worded.length ? 'completed' : response.status
  const html = partsToHtmlOnce({ parts: worded, status })
  return linkWords(html, { mentioned, tagIri: tag => tagIri(origin, agent, tag), memoKey: `${origin} ${agent}` })
}

/**
 * Mastodon notifies only people whom the text, `tag` and the addressing all name. So the text begins with the author of
 * the answered post, and with the mentioned people whom it does not name itself. Later posts of the thread need no
 * names.
 */
function withMentions({ html, named }: LinkedWords, answered: Answered, mentioned: readonly Mentioned[]): string {
  const { response, rendering, mentions = [] } = answered
  const chosen = othersMentioned(response.mentions)
  const missing = mentions.filter(({ name }) => chosen.includes(name) && !named.has(name))
  const before = rendering.reply ? [...mentioned.slice(0, 1), ...missing] : missing
  if (before.length === 0) return html
  const names = before.map(each => writeMention(each)).join(' ')
  return html.startsWith('<p>') ? `<p>${names} ${html.slice(3)}` : `<p>${names}</p>${html}`
}

/** A rendered delivery: the document, and the agent's message it comes from, if any. */
export interface OutgoingActivity {
  readonly document: Json
  readonly said?: { readonly answered: Answered; readonly revision: Revision | undefined } | undefined
  /** The document goes to many. */
  readonly isBroadcast: boolean
}

interface OutgoingDeps {
  readonly origin: string
  readonly fileAddress: Answered['fileAddress']
  readonly showRequirement?: ShowRequirement | undefined
}

const maxRemembered = 100
const rememberMs = 300_000

/** Renders deliveries; what goes to many is rendered once. What it returns throws Undeliverable when there is nothing to say. */
export function createDeliveryRenderer(gateway: OutgoingDeps, now: () => number) {
  const broadcasts = createExpiringMap<OutgoingActivity>(maxRemembered, now)
  return function renderRemembered(delivery: Delivery): OutgoingActivity {
    const target = readDeliveryTarget(delivery)
    const key = delivery.broadcast === undefined ? undefined : nameOf(delivery, target)
    const known = key && broadcasts.get(key)
    if (known) return known
    const rendered = renderDelivery(delivery, target, gateway)
    if (key) broadcasts.set(key, rendered, rememberMs)
    return rendered
  }
}

/** Changed words have another revision; a response that is withdrawn in the meantime is not delivered. */
function nameOf({ message, response }: Delivery, { handshake, piece, revision }: DeliveryTarget): string {
  return JSON.stringify([message.id, response?.id, piece, revision?.id, handshake])
}

function renderDelivery(delivery: Delivery, target: DeliveryTarget, gateway: OutgoingDeps): OutgoingActivity {
  const isBroadcast = delivery.broadcast !== undefined
  if (target.handshake !== undefined) return { document: target.handshake, isBroadcast }
  const said = readSaid(delivery, target, gateway)
  return { said, document: renderSaid(said), isBroadcast }
}

function readSaid(
  { agent, message, response, rendering: kept }: Delivery,
  { piece, revision, ...rest }: DeliveryTarget,
  { origin, fileAddress, showRequirement }: OutgoingDeps,
): NonNullable<OutgoingActivity['said']> {
  if (!response) throw new Undeliverable('Cannot deliver: there is no answer to render')
  const reply = 'reply' in rest ? (rest.reply as Json) : null
  const rendering = readRendering(kept, reply, response)
  const shown = presentPost(response, message, rendering, showRequirement)
  const answered = { origin, agent, response: shown, rendering, piece, fileAddress }
  return { answered, revision }
}

/** The document as it is with these people named in it. Pure. */
export function renderSaid(
  { answered, revision }: NonNullable<OutgoingActivity['said']>,
  mentions: readonly Mentioned[] = [],
): JsonMembers {
  const naming = mentions.length > 0 ? { ...answered, mentions } : answered
  return revision ? renderRevision(naming, revision) : renderCreate(naming)
}

/** The operator's view. A delivery to many keeps only the name. Pure. */
export function describeOutgoing({ document, isBroadcast }: OutgoingActivity): Json {
  if (!isBroadcast || typeof document !== 'object' || document === null || Array.isArray(document)) return document
  const { id = null, type = null, object = null } = document as JsonMembers
  return { id, type, object: (object as JsonMembers | null)?.id ?? object }
}

/** The `Update` or `Delete` of one post. A post that the new words no longer need is deleted. Pure. */
function renderRevision(answered: Answered, { act, id, at }: Revision): JsonMembers {
  const { response, rendering, piece = 0, origin, agent } = answered
  const post = idOfPiece(answered, piece)
  if (act === 'edit' && partsOfPiece(response.parts, rendering, piece)) {
    const note = renderNote({ ...answered, editedAt: at })
    return carryNote(note, { id: `${post}/updates/${id}`, type: 'Update', published: at })
  }
  return {
    '@context': postContext,
    id: `${post}/deletes/${id}`,
    type: 'Delete',
    actor: agentIris(origin, agent).actor,
    published: at,
    ...renderAudience(answered),
    object: { id: post, type: 'Tombstone' },
  }
}
