import type { FetchAnswer, Platform } from '@postern/core'
import { parseUrl, Unavailable, Undeliverable } from '@postern/core'
import { parseBoundedJson, parseRetryAfter } from '@postern/http'
import { createExpiringMap } from '@postern/limits'
import type { Activity, Iri, JsonObject } from '../format/document.ts'
import {
  activityAccept,
  asObject,
  checkPost,
  idOf,
  idsOf,
  isActivityMediaType,
  isOnOrigin,
  isReadablePost,
  parseIri,
  textOf,
} from '../format/document.ts'
import type { KeyRing } from '../keys/key-generations.ts'
import type { SendSigned } from '../keys/message-signing.ts'
import type { IsBlocked } from './known-peers.ts'
import { isBlockedAddress } from './known-peers.ts'
import type { FetchedDocument, LookUpDeps, SignerDocuments } from './look-ups.ts'
import { limitLookUps, unless } from './look-ups.ts'

interface DocumentFetchDeps {
  readonly platform: Pick<Platform, 'now'>
  readonly send: SendSigned
  readonly keys: Pick<KeyRing, 'find'>
  readonly isBlocked: IsBlocked
  /** IRI of the actor whose key signs. */
  readonly instanceActor: string
}

/** For a document, with all requests that it takes. */
export const documentMs = 10_000
export const maxDocumentBytes = 1024 * 1024
const maxHops = 3
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const waitStatuses: ReadonlySet<number> = new Set([408, 425, 429])

/** As `FetchDocument`, until the given time, ms; default: for ten seconds. */
export type FetchDocumentBy = (iri: string, deadline?: number) => Promise<FetchedDocument>

export function createDocumentFetch({
  platform,
  send,
  keys,
  isBlocked,
  instanceActor,
}: DocumentFetchDeps): FetchDocumentBy {
  const now = () => platform.now()

  async function get(url: string, timeoutMs: number): Promise<FetchAnswer> {
    const { request } = await keys.find(instanceActor)
    const headers = { accept: activityAccept }
    return send({ method: 'GET', url, headers, timeoutMs, maxBytes: maxDocumentBytes }, request)
  }

  return async function fetchDocument(iri, deadline = now() + documentMs) {
    refuseBlocked(iri, isBlocked)
    return readFetched(await walkWithinOrigin(iri, { get, now, deadline }), now())
  }
}

/** @throws Undeliverable */
export function refuseBlocked(iri: string, isBlocked: IsBlocked): void {
  if (isBlockedAddress(iri, isBlocked)) throw new Undeliverable('Cannot fetch document: its host is blocked')
}

interface WalkDeps {
  readonly get: (url: string, timeoutMs: number) => Promise<FetchAnswer>
  readonly now: () => number
  readonly deadline: number
}

/** The answer at the end of at most three redirects. @throws Unavailable, Undeliverable */
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

/** Each hop is a request of its own, and none leaves the origin: only it may speak for its own names. */
function followWithin(url: string, { headers }: FetchAnswer): string {
  const next = parseUrl(headers.get('location') ?? '', url)?.href
  if (!next || !isOnOrigin(next, new URL(url).origin)) throw refuseDocument('it redirects away from its origin')
  return next
}

/** @throws Unavailable, NotShown */
export function readFetched({ status, headers, body }: FetchAnswer, now: number): FetchedDocument {
  if (status === 404 || status === 410) return { state: status === 410 ? 'gone' : 'missing' }
  if (status >= 500 || waitStatuses.has(status)) throw waitFor(status, headers, now)
  if (status !== 200) throw refuseDocument(`the answer is ${status}`)
  if (!isActivityMediaType(headers.get('content-type')))
    throw refuseDocument('it is not served as an activity document')
  try {
    return { state: 'found', document: parseBoundedJson(body, { maxDepth: 32, what: 'document' }) }
  } catch (cause) {
    throw refuseDocument('it is not readable JSON', cause)
  }
}

function waitFor(status: number, headers: Headers, now: number): Unavailable {
  const retryAfter = parseRetryAfter(headers.get('retry-after'), now)
  return new Unavailable(`Cannot fetch document: the answer is ${status}`, { status, retryAfter })
}

/** The host answers, but shows no document. */
export class NotShown extends Undeliverable {}

function refuseDocument(problem: string, cause?: unknown): NotShown {
  return new NotShown(`Cannot fetch document: ${problem}`, { cause })
}

/**
 * The claimed owner of a key, by its id or by the document under it. It only says where to look: the owner's own
 * document decides.
 * @throws Unavailable, Undeliverable, Rejection `rate_limited`, `malformed`
 */
export type FindKeyOwner = (key: Iri) => Promise<Iri>

interface KeyOwnerDeps extends Pick<LookUpDeps, 'now'> {
  readonly documents: Pick<SignerDocuments, 'fetch'>
}

const maxKeys = 5_000
const keepMs = 86_400_000
/** Look-ups a minute that strangers can make us do. */
const keyCeilings = { perHost: 120, inAll: 1_200 } as const

export function createKeyOwners({ documents, now }: KeyOwnerDeps): FindKeyOwner {
  const known = createExpiringMap<Iri>(maxKeys, now)
  const countLookUp = limitLookUps(keyCeilings, now)

  /** Some servers give their keys documents of their own (GoToSocial: `/users/x/main-key`). */
  async function ask(key: Iri): Promise<Iri> {
    countLookUp(key.host)
    const fetched = await documents.fetch(key.href)
    const owner = fetched.state === 'found' ? readOwner(fetched.document) : undefined
    if (!owner || !isOnOrigin(owner, key.origin)) throw new Undeliverable('Cannot read key: it names no owner here')
    return parseIri(owner, "its key's owner")
  }

  return async function findKeyOwner(key) {
    const fragment = key.href.indexOf('#')
    if (fragment >= 0) return parseIri(key.href.slice(0, fragment), "its key's owner")
    const owner = known.get(key.href) ?? (await ask(key))
    known.set(key.href, owner, keepMs)
    return owner
  }
}

function readOwner(document: unknown): string | undefined {
  const json = asObject(document)
  const listed = asObject(json?.publicKey)
  return idOf(listed?.owner) ?? idOf(json?.owner) ?? idOf(json?.controller) ?? idOf(json?.id)
}

/**
 * The post that a `Create` names by its IRI alone, fetched from its own origin, which is the actor's. Undefined when
 * its host shows none, or names another author.
 * @throws Unavailable, Rejection `rate_limited`, `malformed`, `too_large`
 */
export type FetchCreatedPost = (activity: Activity) => Promise<JsonObject | undefined>

/** Posts a minute that strangers can make us fetch. */
const postCeilings = { perHost: 60, inAll: 600 } as const

export function createCreatedPosts({ fetchDocument, now }: LookUpDeps): FetchCreatedPost {
  const countLookUp = limitLookUps(postCeilings, now)
  return async function fetchCreatedPost({ json, actor }) {
    const id = textOf(json.object)
    if (!id) return undefined
    countLookUp(actor.host)
    // The delivery is not to blame when the host does not show the post to a server.
    const fetched = await unless([Undeliverable], () => fetchDocument(id))
    const post = fetched?.state === 'found' ? asObject(fetched.document) : undefined
    if (post?.id !== id || !isReadablePost(post) || !idsOf(post.attributedTo).includes(actor.href)) return undefined
    checkPost(post)
    return post
  }
}
