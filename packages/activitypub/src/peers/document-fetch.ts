// Fetches ActivityPub documents with signed requests, within one origin and a deadline.
import { parseBoundedJson, parseRetryAfter } from '@postern/http'
import { createExpiringMap } from '@postern/limits'
import type { FetchAnswer, System } from '@postern/message'
import { parseUrl, Unavailable, Undeliverable } from '@postern/message'
import type { IsBlocked } from '../domains/blocklist.ts'
import { isBlockedAddress } from '../domains/blocklist.ts'
import type { Activity } from '../format/activity.ts'
import { checkPost, isReadablePost } from '../format/check-post.ts'
import type { Iri } from '../format/iri.ts'
import { isOnOrigin, parseIri } from '../format/iri.ts'
import { normalizeJsonLd } from '../format/json-ld.ts'
import type { JsonObject } from '../format/json-object.ts'
import { asObject, idOf, idsOf, textOf } from '../format/json-object.ts'
import { activityAccept, isActivityMediaType } from '../format/media-types.ts'
import type { KeyRing } from '../keys/key-generations.ts'
import type { SendSigned } from '../keys/message-signing.ts'
import { limitFetches } from './fetch-limit.ts'
import type { FetchActorDeps, FetchedDocument, SignerDocuments } from './fetched-document.ts'
import { createKnownKeySend, ownFaultStatus } from './known-key.ts'
import { ignoreFaults } from './peer-faults.ts'

interface DocumentFetchDeps {
  readonly system: Pick<System, 'now'>
  readonly send: SendSigned
  readonly keys: Pick<KeyRing, 'find'>
  readonly isBlocked: IsBlocked
  /** The IRI of the actor whose key signs the requests. */
  readonly instanceActor: string
}

/** The time limit for a document, including all requests that it needs, ms. */
export const documentMs = 10_000
export const maxDocumentBytes = 1024 * 1024
const maxHops = 3
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const waitStatuses: ReadonlySet<number> = new Set([408, 425, 429])

/** Fetches like `FetchDocument`, until `deadline`, in ms since the epoch. Default: ten seconds from now. */
export type FetchDocumentBy = (iri: string, deadline?: number) => Promise<FetchedDocument>

export function createDocumentFetch({
  system,
  send,
  keys,
  isBlocked,
  instanceActor,
}: DocumentFetchDeps): FetchDocumentBy {
  const now = () => system.now()
  const sendWithKnownKey = createKnownKeySend(send, now)

  async function get(url: string, timeoutMs: number): Promise<FetchAnswer> {
    const { listed } = await keys.find(instanceActor)
    const headers = { accept: activityAccept }
    const call = { method: 'GET', url, headers, timeoutMs, maxBytes: maxDocumentBytes } as const
    return sendWithKnownKey(
      call,
      listed.map(({ request }) => request),
    )
  }

  return async function fetchDocument(iri, deadline = now() + documentMs) {
    refuseBlocked(iri, isBlocked)
    return readFetched(await walkWithinOrigin(iri, { get, now, deadline }), now())
  }
}

/** Refuses an IRI on a blocked host. @throws Undeliverable */
export function refuseBlocked(iri: string, isBlocked: IsBlocked): void {
  if (isBlockedAddress(iri, isBlocked)) throw new Undeliverable('Cannot fetch document: its host is blocked')
}

interface WalkDeps {
  readonly get: (url: string, timeoutMs: number) => Promise<FetchAnswer>
  readonly now: () => number
  readonly deadline: number
}

/** Returns the response after at most three redirects. @throws Unavailable, Undeliverable */
export async function walkWithinOrigin(iri: string, { get, now, deadline }: WalkDeps): Promise<FetchAnswer> {
  let url = iri
  for (let hop = 0; hop <= maxHops; hop += 1) {
    const timeoutMs = deadline - now()
    if (timeoutMs <= 0) throw new Unavailable('Cannot fetch document: no answer in time')
    const answer = await get(url, timeoutMs)
    if (!redirectStatuses.has(answer.status)) return answer
    url = followWithin(url, answer)
  }
  throw new Undeliverable('Cannot fetch document: too many redirects')
}

/** Returns the target of a redirect. Each hop is a separate request and stays on the origin, because only the origin may speak for its own names. */
function followWithin(url: string, { headers }: FetchAnswer): string {
  const next = parseUrl(headers.get('location') ?? '', url)?.href
  if (!next || !isOnOrigin(next, new URL(url).origin)) throw refuseDocument('it redirects away from its origin')
  return next
}

/**
 * Reads the response to a signed request. A 401 concerns our own signature: the host does not know our newest key yet, or cannot fetch it now.
 * @throws Unavailable, NotShown
 */
export function readFetched({ status, headers, body }: FetchAnswer, now: number): FetchedDocument {
  if (status === 404 || status === 410) return { state: status === 410 ? 'gone' : 'missing' }
  if (status >= 500 || waitStatuses.has(status)) throw waitFor(status, headers, now)
  if (status === ownFaultStatus)
    throw new SignatureRefused('Cannot fetch document: its host refuses our signature', { status })
  if (status !== 200) throw refuseDocument(`the answer is ${status}`)
  if (!isActivityMediaType(headers.get('content-type')))
    throw refuseDocument('it is not served as an activity document')
  try {
    return { state: 'found', document: normalizeJsonLd(parseBoundedJson(body, { maxDepth: 32, what: 'document' })) }
  } catch (cause) {
    throw refuseDocument('it is not readable JSON', cause)
  }
}

function waitFor(status: number, headers: Headers, now: number): Unavailable {
  const retryAfter = parseRetryAfter(headers.get('retry-after'), now)
  return new Unavailable(`Cannot fetch document: the answer is ${status}`, { status, retryAfter })
}

/** The fault of a host that rejects our own signature. The peer is not at fault, and a retry may succeed. */
class SignatureRefused extends Unavailable {}

/** The fault of a host that answers but shows no document. */
export class NotShown extends Undeliverable {}

function refuseDocument(problem: string, cause?: unknown): NotShown {
  return new NotShown(`Cannot fetch document: ${problem}`, { cause })
}

/**
 * Finds the claimed owner of a key, by the key's id or by the document at that id. The result only says where to look, because the owner's own
 * document decides.
 * @throws Unavailable, Undeliverable, Rejection `rate_limited`, `malformed`
 */
export type FindKeyOwner = (key: Iri) => Promise<Iri>

interface KeyOwnerDeps extends Pick<FetchActorDeps, 'now'> {
  readonly documents: Pick<SignerDocuments, 'fetch'>
}

const maxKeys = 5_000
const keepMs = 86_400_000
/** The most look-ups of keys a minute that strangers can cause. */
const keyCeilings = { perHost: 120, inAll: 1_200 } as const

export function createKeyOwners({ documents, now }: KeyOwnerDeps): FindKeyOwner {
  const owners = createExpiringMap<Iri>(maxKeys, now)
  const countLookUp = limitFetches(keyCeilings, now)

  /** Fetches the owner from a key's own document, which some servers have (GoToSocial: `/users/x/main-key`). */
  async function ask(key: Iri): Promise<Iri> {
    countLookUp.take(key.host)
    const fetched = await documents.fetch(key.href)
    const owner = fetched.state === 'found' ? readOwner(fetched.document) : undefined
    if (!owner || !isOnOrigin(owner, key.origin)) throw new Undeliverable('Cannot read key: it names no owner here')
    return parseIri(owner, "its key's owner")
  }

  return async function findKeyOwner(key) {
    const fragment = key.href.indexOf('#')
    if (fragment >= 0) return parseIri(key.href.slice(0, fragment), "its key's owner")
    const owner = owners.get(key.href) ?? (await ask(key))
    owners.set(key.href, owner, keepMs)
    return owner
  }
}

function readOwner(document: unknown): string | undefined {
  const json = asObject(document)
  const listed = asObject(json?.publicKey)
  return idOf(listed?.owner) ?? idOf(json?.owner) ?? idOf(json?.controller) ?? idOf(json?.id)
}

/**
 * Fetches the post that a `Create` names by its IRI alone, from its own origin, which is the actor's. Returns undefined if its host does not show
 * the post, or the post names another author.
 * @throws Unavailable, Rejection `rate_limited`, `malformed`, `too_large`
 */
export type FetchCreatedPost = (activity: Activity) => Promise<JsonObject | undefined>

/** The most posts a minute that strangers can make us fetch. */
const postCeilings = { perHost: 60, inAll: 600 } as const

export function createCreatedPosts({ fetchDocument, now }: FetchActorDeps): FetchCreatedPost {
  const countLookUp = limitFetches(postCeilings, now)
  return async function fetchCreatedPost({ json, actor }) {
    const id = textOf(json.object)
    if (!id) return undefined
    countLookUp.take(actor.host)
    // The sender is not at fault if the host does not show the post to a server.
    const fetched = await ignoreFaults([Undeliverable, SignatureRefused], () => fetchDocument(id))
    const post = fetched?.state === 'found' ? asObject(fetched.document) : undefined
    if (post?.id !== id || !isReadablePost(post) || !idsOf(post.attributedTo).includes(actor.href)) return undefined
    checkPost(post)
    return post
  }
}
