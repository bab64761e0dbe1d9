import type { FetchAnswer, Platform } from '@postern/core'
import { parseUrl, Unavailable, Undeliverable } from '@postern/core'
import { parseBoundedJson, parseRetryAfter } from '@postern/http'
import { isOnOrigin } from '../format/iri.ts'
import { activityAccept, isActivityMediaType } from '../format/vocabulary.ts'
import type { KeyRing } from '../keys/keys.ts'
import type { IsBlocked } from './blocklist.ts'
import { isBlockedAddress } from './blocklist.ts'
import type { SendSigned } from './double-knock.ts'

/** The origin may say that there is no such document: `gone`, it was here (410); `missing`, it is not (404). */
export type FetchedDocument =
  | { readonly state: 'found'; readonly document: unknown }
  | { readonly state: 'gone' | 'missing' }

/**
 * Fetches an AS2 document from the origin of its own IRI. The instance actor signs the request, because strict servers
 * show nothing to strangers (GoToSocial, Mastodon's secure mode).
 * @throws Unavailable the host did not answer, or asked us to wait
 * @throws Undeliverable there is no such document, it is not served as one, or its host is blocked
 */
export type FetchDocument = (iri: string) => Promise<FetchedDocument>

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
