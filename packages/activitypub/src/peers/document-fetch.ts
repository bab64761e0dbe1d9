// Fetches ActivityPub documents with signed requests, within one origin and a deadline.
import { parseBoundedJson, parseRetryAfter } from '@postern/http'
import { createExpiringMap } from '@postern/limits'
import type { FetchAnswer, System } from '@postern/message'
import { parseUrl, Unavailable, Undeliverable } from '@postern/message'
import type { IsBlocked } from '../domains/blocklist.ts'
import { isBlockedUrl } from '../domains/blocklist.ts'
import type { Activity } from '../format/activity.ts'
import { checkPost, isReadablePost } from '../format/check-post.ts'
import type { Iri } from '../format/iri.ts'
import { isOnOrigin, parseIri } from '../format/iri.ts'
import { normalizeJsonLd } from '../format/json-ld.ts'
import type { JsonObject } from '../format/json-object.ts'
import { asObject, idOf, idsOf, textOf } from '../format/json-object.ts'
import { activityAccept, isActivityMediaType } from '../format/media-types.ts'
import type { KeyRing } from '../keys/key-generations.ts'
import type { SendSigned } from '../keys/send-signed.ts'
import { createFetchLimit } from './fetch-limits.ts'
import type { FetchActorDeps, FetchedDocument, SignerDocuments } from './fetched-document.ts'
import { createKnownKeySend, signatureRefusedStatus } from './known-key.ts'
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
export const documentTimeoutMs = 10_000
export const maxDocumentBytes = 1024 * 1024
const maxRedirects = 3
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const retryableStatuses: ReadonlySet<number> = new Set([408, 425, 429])

/** A function that fetches like `FetchDocument`, until `deadlineAt`, in ms since the epoch. Default: ten seconds from now. */
export type FetchDocumentByDeadline = (iri: string, deadlineAt?: number) => Promise<FetchedDocument>

export function createDocumentFetch({
  system,
  send,
  keys,
  isBlocked,
  instanceActor,
}: DocumentFetchDeps): FetchDocumentByDeadline {
  const now = () => system.now()
  const sendWithKnownKey = createKnownKeySend(send, now)

  async function sendSignedGet(url: string, timeoutMs: number): Promise<FetchAnswer> {
    const { listedKeys } = await keys.find(instanceActor)
    const headers = { accept: activityAccept }
    const request = { method: 'GET', url, headers, timeoutMs, maxBytes: maxDocumentBytes } as const
    return sendWithKnownKey(
      request,
      listedKeys.map(({ requestKey }) => requestKey),
    )
  }

  return async function fetchDocument(iri, deadlineAt = now() + documentTimeoutMs) {
    refuseBlocked(iri, isBlocked)
    return parseDocumentResponse(await followRedirectsWithinOrigin(iri, { get: sendSignedGet, now, deadlineAt }), now())
  }
}

/** Refuses an IRI on a blocked host. @throws Undeliverable */
export function refuseBlocked(iri: string, isBlocked: IsBlocked): void {
  if (isBlockedUrl(iri, isBlocked)) throw new Undeliverable('Cannot fetch document: its host is blocked')
}

interface RedirectDeps {
  readonly get: (url: string, timeoutMs: number) => Promise<FetchAnswer>
  readonly now: () => number
  readonly deadlineAt: number
}

/** Returns the response after at most three redirects. @throws Unavailable, Undeliverable */
export async function followRedirectsWithinOrigin(
  iri: string,
  { get, now, deadlineAt }: RedirectDeps,
): Promise<FetchAnswer> {
  let url = iri
  for (let redirectCount = 0; redirectCount <= maxRedirects; redirectCount += 1) {
    const timeoutMs = deadlineAt - now()
    if (timeoutMs <= 0) throw new Unavailable('Cannot fetch document: no answer in time')
    const response = await get(url, timeoutMs)
    if (!redirectStatuses.has(response.status)) return response
    url = resolveRedirect(url, response)
  }
  throw new Undeliverable('Cannot fetch document: too many redirects')
}

/** Returns the target of a redirect. Each hop is a separate request and stays on the origin, because only an origin decides about its own documents. */
function resolveRedirect(url: string, { headers }: FetchAnswer): string {
  const target = parseUrl(headers.get('location') ?? '', url)?.href
  if (!target || !isOnOrigin(target, new URL(url).origin)) throw refuseDocument('it redirects away from its origin')
  return target
}

/**
 * Reads the response to a signed request. A 401 concerns our own signature: the host does not know our newest key yet, or cannot fetch it now.
 * @throws Unavailable, RefusedDocument
 */
export function parseDocumentResponse({ status, headers, body }: FetchAnswer, now: number): FetchedDocument {
  if (status === 404 || status === 410) return { state: status === 410 ? 'gone' : 'missing' }
  if (status >= 500 || retryableStatuses.has(status)) throw toUnavailable(status, headers, now)
  if (status === signatureRefusedStatus)
    throw new RefusedSignature('Cannot fetch document: its host refuses our signature', { status })
  if (status !== 200) throw refuseDocument(`the answer is ${status}`)
  if (!isActivityMediaType(headers.get('content-type')))
    throw refuseDocument('it is not served as an activity document')
  try {
    return { state: 'found', document: normalizeJsonLd(parseBoundedJson(body, { maxDepth: 32, label: 'document' })) }
  } catch (cause) {
    throw refuseDocument('it is not readable JSON', cause)
  }
}

function toUnavailable(status: number, headers: Headers, now: number): Unavailable {
  const retryAfter = parseRetryAfter(headers.get('retry-after'), now)
  return new Unavailable(`Cannot fetch document: the answer is ${status}`, { status, retryAfter })
}

/** The failure of a host that rejects our own signature. The peer is not at fault, and a retry may succeed. */
class RefusedSignature extends Unavailable {}

/** The failure of a host that answers but shows no document. */
export class RefusedDocument extends Undeliverable {}

function refuseDocument(problem: string, cause?: unknown): RefusedDocument {
  return new RefusedDocument(`Cannot fetch document: ${problem}`, { cause })
}

/**
 * Finds the claimed owner of a key, by the key's id or by the document at that id. The result is only a claim. The owner's own document
 * confirms it.
 * @throws Unavailable, Undeliverable, Rejection `rate_limited`, `malformed`
 */
export type FindKeyOwner = (key: Iri) => Promise<Iri>

interface KeyOwnerDeps extends Pick<FetchActorDeps, 'now'> {
  readonly documents: Pick<SignerDocuments, 'fetch'>
}

const maxKeys = 5_000
const ownerCacheMs = 86_400_000
/** The maximum number of key fetches per minute that strangers can cause. */
const keyFetchLimits = { perHost: 120, total: 1_200 } as const

export function createKeyOwnerFinder({ documents, now }: KeyOwnerDeps): FindKeyOwner {
  const owners = createExpiringMap<Iri>(maxKeys, now)
  const fetchLimit = createFetchLimit(keyFetchLimits, now)

  /** Fetches the owner from a key's own document, which some servers have (GoToSocial: `/users/x/main-key`). */
  async function fetchOwner(key: Iri): Promise<Iri> {
    fetchLimit.consume(key.host)
    const result = await documents.fetch(key.href)
    const owner = result.state === 'found' ? readKeyOwner(result.document) : undefined
    if (!owner || !isOnOrigin(owner, key.origin)) throw new Undeliverable('Cannot read key: it names no owner here')
    return parseIri(owner, "its key's owner")
  }

  return async function findKeyOwner(key) {
    const fragmentIndex = key.href.indexOf('#')
    if (fragmentIndex >= 0) return parseIri(key.href.slice(0, fragmentIndex), "its key's owner")
    const owner = owners.get(key.href) ?? (await fetchOwner(key))
    owners.set(key.href, owner, ownerCacheMs)
    return owner
  }
}

function readKeyOwner(document: unknown): string | undefined {
  const json = asObject(document)
  const publicKey = asObject(json?.publicKey)
  return idOf(publicKey?.owner) ?? idOf(json?.owner) ?? idOf(json?.controller) ?? idOf(json?.id)
}

/**
 * Fetches the post that a `Create` names by its IRI alone, from its own origin, which is the actor's. Returns undefined if its host does not show
 * the post, or the post names another author.
 * @throws Unavailable, Rejection `rate_limited`, `malformed`, `too_large`
 */
export type FetchCreatedPost = (activity: Activity) => Promise<JsonObject | undefined>

/** The maximum number of posts per minute that strangers can make us fetch. */
const postFetchLimits = { perHost: 60, total: 600 } as const

export function createCreatedPostFetch({ fetchDocument, now }: FetchActorDeps): FetchCreatedPost {
  const fetchLimit = createFetchLimit(postFetchLimits, now)
  return async function fetchCreatedPost({ json, actor }) {
    const id = textOf(json.object)
    if (!id) return undefined
    fetchLimit.consume(actor.host)
    // The sender is not at fault if the host does not show the post to a server.
    const result = await ignoreFaults([Undeliverable, RefusedSignature], () => fetchDocument(id))
    const post = result?.state === 'found' ? asObject(result.document) : undefined
    if (post?.id !== id || !isReadablePost(post) || !idsOf(post.attributedTo).includes(actor.href)) return undefined
    checkPost(post)
    return post
  }
}
