import type { Delivery, Json, NormalizedResponse, Part, ShowRequirement } from '@postern/core'
import { Undeliverable } from '@postern/core'
import { createExpiringMap } from '@postern/limits'
import { activityStreams, findWebAddress, publicCollection } from '../format/document.ts'
import type { DeliveryTarget, Rendering, ReplyTarget, Revision } from '../format/own-posts.ts'
import {
  activityIri,
  agentIris,
  pieceId,
  postIri,
  readDeliveryTarget,
  readRendering,
  tagIri,
} from '../format/own-posts.ts'
import type { LinkedWords, Mentioned } from '../words/words.ts'
import { linkWords, partsToHtmlOnce, tagKey, writeMention } from '../words/words.ts'
import { othersMentioned, partsOfPiece, presentPost } from './address-answer.ts'

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
  /** The address of stored bytes. */
  readonly fileAddress?: ((digest: string) => string) | undefined
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
  const { '@context': context, ...note } = renderNote(answered)
  const { id, published, to, cc, attributedTo } = note
  return {
    '@context': context,
    id: activityIri(String(id)),
    type: 'Create',
    actor: attributedTo,
    published,
    to,
    cc,
    object: note,
  }
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
  const attachment = parts.flatMap(part => toDocument(part, answered))
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

function writeWords(answered: Answered, parts: readonly Part[], mentioned: readonly Mentioned[]): LinkedWords {
  const { origin, agent, response } = answered
  const worded = parts.filter(part => !isShown(part, answered))
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

const mediaPattern = /^(image|video|audio)\//

/** Servers show media beside the text: there it needs no words. */
function isShown(part: Part, { fileAddress }: Answered): boolean {
  if (part.kind !== 'file' && part.kind !== 'artifact') return false
  return mediaPattern.test(part.mime ?? '') && addressOf(part, fileAddress) !== undefined
}

function toDocument(part: Part, { fileAddress }: Answered): readonly Json[] {
  if (part.kind !== 'file' && part.kind !== 'artifact') return []
  const url = addressOf(part, fileAddress)
  const { name, description = name, mime } = part
  return url
    ? [{ type: 'Document', url, ...(mime && { mediaType: mime }), ...(description && { name: description }) }]
    : []
}

function addressOf(
  { bytes_ref: ref }: Extract<Part, { kind: 'file' | 'artifact' }>,
  fileAddress: Answered['fileAddress'],
): string | undefined {
  if (ref.kind === 'content_addressed') return fileAddress?.(ref.digest) ?? findWebAddress(ref.url)
  return ref.kind === 'url' ? findWebAddress(ref.url) : undefined
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
function renderRevision(answered: Answered, revision: Revision): JsonMembers {
  const { response, rendering, piece = 0 } = answered
  const isLeft = revision.act === 'edit' && partsOfPiece(response.parts, rendering, piece) !== undefined
  return isLeft ? renderUpdate(answered, revision) : renderDelete(answered, revision)
}

function renderUpdate(answered: Answered, { id, at }: Revision): JsonMembers {
  const { '@context': context, ...note } = renderNote({ ...answered, editedAt: at })
  return {
    '@context': context,
    id: `${String(note.id)}/updates/${id}`,
    type: 'Update',
    actor: note.attributedTo,
    published: at,
    to: note.to,
    cc: note.cc,
    object: note,
  }
}

function renderDelete(answered: Answered, { id, at }: Revision): JsonMembers {
  const { origin, agent, piece = 0 } = answered
  const post = idOfPiece(answered, piece)
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
