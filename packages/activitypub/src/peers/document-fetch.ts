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
import type { FetchDocument, FetchedDocument, IsBlocked, LookUpDeps } from './known-peers.ts'
import { isBlockedAddress, limitLookUps } from './known-peers.ts'

interface DocumentFetchDeps {
  readonly platform: Pick<Platform, 'now'>
  readonly send: SendSigned
  readonly keys: Pick<KeyRing, 'find'>
  readonly isBlocked: IsBlocked
  /** IRI of the actor whose key signs. */
  readonly instanceActor: string
}

const totalMs = 10_000
const maxBytes = 1024 * 1024
const maxHops = 3
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const waitStatuses: ReadonlySet<number> = new Set([408, 425, 429])

export function createDocumentFetch({
  platform,
  send,
  keys,
  isBlocked,
  instanceActor,
}: DocumentFetchDeps): FetchDocument {
  async function get(url: string, deadline: number): Promise<FetchAnswer> {
    const timeoutMs = deadline - platform.now()
    if (timeoutMs <= 0) throw new Unavailable('Cannot fetch document: no answer in time')
    const { request } = await keys.find(instanceActor)
    return send({ method: 'GET', url, headers: { accept: activityAccept }, timeoutMs, maxBytes }, request)
  }

  return async function fetchDocument(iri) {
    if (isBlockedAddress(iri, isBlocked)) throw refuseDocument('its host is blocked')
    const deadline = platform.now() + totalMs
    let url = iri
    for (let hop = 0; hop <= maxHops; hop += 1) {
      const answer = await get(url, deadline)
      if (!redirectStatuses.has(answer.status)) return readDocument(answer, platform.now())
      url = followWithin(url, answer)
    }
    throw refuseDocument('too many redirects')
  }
}

/** Each hop is signed anew, and none leaves the origin: only it may speak for its own names. */
function followWithin(url: string, { headers }: FetchAnswer): string {
  const next = parseUrl(headers.get('location') ?? '', url)?.href
  if (!next || !isOnOrigin(next, new URL(url).origin)) throw refuseDocument('it redirects away from its origin')
  return next
}

function readDocument({ status, headers, body }: FetchAnswer, now: number): FetchedDocument {
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
  const told = { status, ...(retryAfter !== undefined && { retryAfter }) }
  return new Unavailable(`Cannot fetch document: the answer is ${status}`, told)
}

function refuseDocument(problem: string, cause?: unknown): Undeliverable {
  return new Undeliverable(`Cannot fetch document: ${problem}`, { cause })
}

/**
 * The claimed owner of a key, by its id or by the document under it. It only says where to look: the owner's own
 * document decides.
 * @throws Unavailable, Undeliverable, Rejection `rate_limited`, `malformed`
 */
export type FindKeyOwner = (key: Iri) => Promise<Iri>

const maxKeys = 5_000
const keepMs = 86_400_000
/** Look-ups a minute that strangers can make us do. */
const keyCeilings = { perHost: 120, inAll: 1_200 } as const

export function createKeyOwners({ fetchDocument, now }: LookUpDeps): FindKeyOwner {
  const known = createExpiringMap<Iri>(maxKeys, now)
  const countLookUp = limitLookUps(keyCeilings, now)

  /** Some servers give their keys documents of their own (GoToSocial: `/users/x/main-key`). */
  async function ask(key: Iri): Promise<Iri> {
    countLookUp(key.host)
    const fetched = await fetchDocument(key.href)
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
    const post = asObject(await fetchShown(id, fetchDocument))
    if (post?.id !== id || !isReadablePost(post) || !idsOf(post.attributedTo).includes(actor.href)) return undefined
    checkPost(post)
    return post
  }
}

/** The delivery is not to blame when the host does not show the post to a server. */
async function fetchShown(id: string, fetchDocument: FetchDocument): Promise<unknown> {
  try {
    const fetched = await fetchDocument(id)
    return fetched.state === 'found' ? fetched.document : undefined
  } catch (error) {
    if (error instanceof Undeliverable) return undefined
    throw error
  }
}
