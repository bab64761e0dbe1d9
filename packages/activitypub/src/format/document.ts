import type { AgentDirectory, Delivery, Json, NormalizedResponse, Turn, Visibility } from '@postern/core'
import { maxUrlLength, parseUrl, Rejection } from '@postern/core'
import { parseMediaType } from '@postern/http'
import type { DeliveryContent, DeliveryTarget, Rendering, ReplyTarget } from './post-data.ts'

/** An activity whose literal fields and origins fit together. It is not proven yet that its actor sent it. */
export interface Activity {
  readonly id: string
  readonly type: string
  readonly actor: Iri
  readonly json: JsonObject
}

/** More than any honest post has; each entry costs work later. */
const caps: Readonly<Record<string, number>> = {
  tag: 300,
  to: 300,
  cc: 300,
  bto: 300,
  bcc: 300,
  audience: 300,
  attachment: 64,
  image: 64,
  object: 300,
}

/** UTF-16 code units of one text of a post. A longer one would take processing time from all other senders. */
const maxText = 256 * 1024

const readableTypes: ReadonlySet<string | undefined> = new Set([
  ...['Note', 'Article', 'Page', 'Question', 'ChatMessage'],
  ...['Audio', 'Event', 'Image', 'Video'],
])

/** Whether this is a post that an agent can read. */
export function isReadablePost(json: unknown): boolean {
  return readableTypes.has(typeOf(json))
}

/** A post means what its literal names say, and is of a size that can be read. @throws Rejection `malformed`, `too_large` */
export function checkPost(post: JsonObject): void {
  checkContext(post)
  checkCaps(post)
  checkTexts(post)
}

export function checkCaps(json: JsonObject): void {
  for (const name in caps) {
    const most = caps[name] ?? 0
    if (listOf(json[name]).length > most) {
      throw new Rejection('too_large', `Cannot read activity: more than ${most} entries in "${name}"`)
    }
  }
}

function checkTexts({ content, contentMap, summary }: JsonObject): void {
  const texts = [content, summary, ...Object.values(asObject(contentMap) ?? {})]
  if (texts.some(text => typeof text === 'string' && text.length > maxText)) {
    throw new Rejection('too_large', `Cannot read activity: a text of more than ${maxText} characters`)
  }
}

export function malformed(problem: string): Rejection {
  return new Rejection('malformed', `Cannot read activity: ${problem}`)
}

/** Keywords by which a JSON-LD reader would see another document than the one that lies before us. */
const rearranging = ['@graph', '@reverse', '@included', '@id', '@type', '@nest'] as const

/** The words we read, and what an inline context may say they are. */
const coreTerms: ReadonlyMap<string, string> = new Map([
  ['id', '@id'],
  ['type', '@type'],
  ['contentMap', 'as:content'],
  ...words('actor object attributedTo to cc bto bcc audience content summary inReplyTo tag href name url attachment'),
])

function words(list: string): [string, string][] {
  return list.split(' ').map(word => [word, `as:${word}`])
}

/**
 * The document must mean what its literal names say. Nothing is expanded and no context is fetched; a context that
 * renames our words is refused (CVE-2022-24307), and so are rearranging keywords (CVE-2026-42462).
 * @throws Rejection `malformed`
 */
export function checkContext(json: JsonObject): void {
  for (const keyword of rearranging) {
    if (json[keyword] !== undefined) throw malformed(`it uses the keyword "${keyword}"`)
  }
  const context = json['@context']
  if (context === undefined) return
  const entries = listOf(context)
  // Without a context it is AS2 by its media type (AS2 §2.1); with one, AS2 must be in it.
  if (!entries.some(entry => typeof entry === 'string' && activityStreamsNames.includes(entry)))
    throw malformed('its @context is not that of ActivityStreams')
  for (const entry of entries) checkInline(asObject(entry))
}

function checkInline(definitions: JsonObject | undefined): void {
  for (const name in definitions) {
    const meaning = coreTerms.get(name)
    if (meaning && !isMeant(definitions[name], meaning)) throw malformed(`its @context redefines "${name}"`)
  }
}

function isMeant(definition: unknown, meaning: string): boolean {
  const target = asObject(definition)?.['@id'] ?? definition
  return target === meaning || activityStreamsNames.some(name => target === meaning.replace('as:', `${name}#`))
}

/** A JSON object read by literal names; what a peer's `@context` says about them is never evaluated. */
export type JsonObject = Readonly<Record<string, unknown>>

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
}

/** A string with something in it. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** AS2 allows one value without its array. */
export function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value : [value]
}

/** The only value, alone or in a list of one; undefined when there are none or several. */
export function onlyOf(value: unknown): unknown {
  const values = listOf(value)
  return values.length === 1 ? values[0] : undefined
}

/** The IRI of a reference, or of an embedded object. */
export function idOf(value: unknown): string | undefined {
  const id = textOf(value) ?? textOf(asObject(value)?.id)
  return id && id.length <= maxUrlLength ? id : undefined
}

/** The IRIs of a list; entries that name nothing are left out. */
export function idsOf(value: unknown): readonly string[] {
  return listOf(value)
    .map(idOf)
    .filter(id => id !== undefined)
}

/** The one type of a document; several types at once have no meaning we could act on. */
export function typeOf(value: unknown): string | undefined {
  return textOf(onlyOf(asObject(value)?.type))
}

/** An address written as text or as a Link. */
export function readHref(value: unknown): string | undefined {
  return textOf(value) ?? textOf(asObject(value)?.href)
}

/** An https IRI, parsed once. Hosts are compared in this parsed, punycoded form only (FEP-fe34). */
export interface Iri {
  readonly href: string
  readonly origin: string
  /** Lower-case A-labels, without port. */
  readonly host: string
}

/**
 * Reads an https IRI; `what` names it in the refusal.
 * @throws Rejection `malformed`: no IRI, another scheme, or user-info (which only serves to deceive readers), or
 * longer than is worth remembering
 */
export function parseIri(text: string, what: string): Iri {
  if (text.length > maxUrlLength) throw malformed(`${what} is too long`)
  const iri = findIri(text)
  if (!iri) throw malformed(`${what} is not an https IRI without user-info`)
  return iri
}

/** As `parseIri`; undefined for a text that is none. */
export function findIri(text: string): Iri | undefined {
  const url = toUrl(text)
  return url && { href: text, origin: url.origin, host: url.hostname.replace(/\.$/, '') }
}

/** The host of an IRI, or undefined when it is no https IRI. */
export function findHost(text: string): string | undefined {
  return toUrl(text)?.hostname.replace(/\.$/, '')
}

/**
 * Whether `iri` is on `origin`. A literal prefix up to the path's slash cannot deceive, so most IRIs need no parsing.
 */
export function isOnOrigin(iri: string, origin: string): boolean {
  if (iri.length > maxUrlLength) return false
  return (iri.startsWith(origin) && iri[origin.length] === '/') || toUrl(iri)?.origin === origin
}

/** An address a reader may be sent to: http(s) only, in its normal form. */
export function findWebAddress(text: string | undefined): string | undefined {
  const url = text ? parseUrl(text) : undefined
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined
}

function toUrl(text: string): URL | undefined {
  const url = parseUrl(text)
  return url?.protocol === 'https:' && !url.username && !url.password ? url : undefined
}

export const activityStreams = 'https://www.w3.org/ns/activitystreams'
/** Both spellings name the same vocabulary; servers write either (AS2 §2.1.1 knows the second). */
const activityStreamsNames: readonly string[] = [activityStreams, activityStreams.replace('https:', 'http:')]
export const securityContext = 'https://w3id.org/security/v1'
/** Without the first, readers of JSON-LD do not see `assertionMethod`; without the second, not what a Multikey is. */
export const multikeyContexts = ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/multikey/v1'] as const
export const publicCollection = `${activityStreams}#Public`

/** The three spellings of the public audience on the network (ActivityPub §5.6). */
const publicNames: ReadonlySet<string> = new Set([publicCollection, 'as:Public', 'Public'])

export const activityJson = 'application/activity+json'
/** The type of our documents; most peers send a charset too. */
export const activityJsonUtf8 = `${activityJson}; charset=utf-8`
/** The types that we accept when we fetch (ActivityPub §3.2). */
export const activityAccept = `${activityJson}, application/ld+json; profile="${activityStreams}"`

export function isPublic(iri: string): boolean {
  return publicNames.has(iri)
}

/** `application/activity+json`, or `application/ld+json` with the AS2 profile; an uploaded file is neither. */
export function isActivityMediaType(contentType: string | null | undefined): boolean {
  if (contentType === activityJson || contentType === activityJsonUtf8) return true
  const media = contentType ? parseMediaType(contentType) : undefined
  if (media?.type === activityJson) return true
  const profiles = media?.parameters.get('profile')?.split(/\s+/) ?? []
  return media?.type === 'application/ld+json' && profiles.includes(activityStreams)
}

/** The addresses of our own actors and of their documents. */
export function agentIris(origin: string, name: string) {
  const actor = `${origin}/agents/${name}`
  return {
    actor,
    inbox: `${actor}/inbox`,
    outbox: `${actor}/outbox`,
    followers: `${actor}/followers`,
    following: `${actor}/following`,
    featured: `${actor}/featured`,
  }
}

/** A post's id depends on the response alone, so a retried delivery is the same document. */
export function postIri(origin: string, name: string, responseId: string): string {
  return `${agentIris(origin, name).actor}/posts/${responseId}`
}

/** The page of an agent's posts under a tag (without `#`). */
export function tagIri(origin: string, name: string, tag: string): string {
  return `${agentIris(origin, name).actor}/tags/${encodeURIComponent(tag)}`
}

export function activityIri(post: string): string {
  return `${post}/activity`
}

export function instanceActorIri(origin: string): string {
  return `${origin}/actor`
}

const postPath = /^\/agents\/([^/]+)\/posts\/([^/?#]+)(?:\/activity)?$/

/** The agent whose actor this is. */
export function findAgentName(iri: string, agents: Pick<AgentDirectory, 'origin' | 'find'>): string | undefined {
  const prefix = `${agents.origin}/agents/`
  return iri.startsWith(prefix) ? agents.find(iri.slice(prefix.length))?.name : undefined
}

/** The agent and the number in the IRI of an own post; whether that post exists is not checked yet. */
export function parsePostIri(iri: string, { origin }: Pick<AgentDirectory, 'origin'>) {
  const [, agent, id] = (iri.startsWith(`${origin}/`) && postPath.exec(iri.slice(origin.length))) || []
  return agent && id ? { agent, id } : undefined
}

/** The number of the piece in a post's IRI. The first piece has the id of the response alone. */
export function pieceId(responseId: string, piece: number): string {
  return piece === 0 ? responseId : `${responseId}.${piece + 1}`
}

/** The response and the piece that a post's id names. */
export function parsePieceId(id: string): { readonly responseId: string; readonly piece: number } {
  const [, responseId, number] = /^(.+)\.([2-9]|1\d|20)$/.exec(id) ?? []
  return responseId === undefined ? { responseId: id, piece: 0 } : { responseId, piece: Number(number) - 1 }
}

/** Only this channel writes targets and renderings; the store keeps them as JSON. */
export function toJson(kept: ReplyTarget | DeliveryTarget | DeliveryContent | Rendering): Json {
  return kept as unknown as Json
}

export function readReplyTarget(json: Json): ReplyTarget {
  return json as unknown as ReplyTarget
}

/** The posts that a message refers to, the one it answers and the one it quotes, and its sender. */
export function readReferences({ content, target }: Pick<Turn, 'content' | 'target'>) {
  const sender = readReplyTarget(target)
  const isMessage = content.kind === undefined || content.kind === 'message'
  return { parent: isMessage ? content.in_reply_to : undefined, quote: sender.quote, sender }
}

/** The data that all deliveries of a broadcast share, beside the data of each one. */
export function readDeliveryTarget({ target, broadcast }: Pick<Delivery, 'target' | 'broadcast'>): DeliveryTarget {
  return { ...(broadcast as object | undefined), ...(target as object) } as DeliveryTarget
}

const byWidth: readonly Visibility[] = ['public', 'unlisted', 'followers', 'direct']

/**
 * The audience of a document by its own addressing, as Mastodon reads `to` and `cc`; undefined when it names nobody.
 */
export function readVisibility(json: JsonObject, followers: string | undefined): Visibility | undefined {
  // A chat is between two, whatever it is addressed to (Pleroma, Lemmy, Mbin).
  if (typeOf(json) === 'ChatMessage') return 'direct'
  const to = idsOf(json.to)
  const cc = idsOf(json.cc)
  if (to.some(isPublic)) return 'public'
  if (cc.some(isPublic)) return 'unlisted'
  if (followers && (to.includes(followers) || cc.includes(followers))) return 'followers'
  return to.length + cc.length > 0 ? 'direct' : undefined
}

export function narrower(left: Visibility, right: Visibility): Visibility {
  return byWidth.indexOf(left) > byWidth.indexOf(right) ? left : right
}

/**
 * An answer is never wider than the post it answers. We cannot address the followers of others: there the answer is
 * direct.
 */
export function replyVisibility(original: Visibility, wanted: Visibility | undefined): Visibility {
  const widest = original === 'followers' ? 'direct' : original
  return narrower(widest, wanted ?? widest)
}

/** Whether everyone may read it. */
export function isOpen(visibility: Visibility): boolean {
  return visibility === 'public' || visibility === 'unlisted'
}

/** `target`: of the message it answers. Answers from before renderings were stored have nothing else. */
export function readRendering(
  rendering: Json | undefined,
  target: Json,
  { visibility }: Pick<NormalizedResponse, 'visibility'>,
): Rendering {
  if (rendering !== undefined) return rendering as unknown as Rendering
  const reply = readReplyTarget(target)
  return { reply, visibility: replyVisibility(reply.visibility, visibility), pieces: 1 }
}
