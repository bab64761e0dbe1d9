// Asks WebFinger (RFC 7033) for the actor of a name.

import { parseBoundedJson, parseMediaType } from '@postern/http'
import { createRateLimit } from '@postern/limits'
import type { Address, FetchAnswer, System } from '@postern/message'
import { parseUrl, Unavailable, Undeliverable } from '@postern/message'
import { asObject, listOf, textOf } from '../format/json-object.ts'
import { activityJson } from '../format/media-types.ts'

export type WebFinger = ReturnType<typeof createWebFinger>

interface WebFingerDeps extends Pick<System, 'fetch' | 'now'> {
  isBlockedUrl(url: string): boolean
}

/** The most requests a minute that strangers can cause to another domain: from one host, and in total. */
const requestsPerMinute = { perPair: 60, perDomain: 600 } as const

const lookupTimeoutMs = 5_000

const accept = 'application/jrd+json, application/json'

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

const jrdTypes: ReadonlySet<string | undefined> = new Set(['application/jrd+json', 'application/json'])

const actorTypes: ReadonlySet<string | undefined> = new Set([activityJson, 'application/ld+json'])

/** Creates the client of WebFinger. Strangers choose the names, so requests to other domains are limited. */
export function createWebFinger({ fetch, now, isBlockedUrl }: WebFingerDeps) {
  const pairLimit = createRateLimit({ perMinute: requestsPerMinute.perPair }, now)
  const domainLimit = createRateLimit({ perMinute: requestsPerMinute.perDomain }, now)

  /**
   * Fetches a descriptor. It follows one redirect, because handles may be on another domain than the server (Mastodon's `LOCAL_DOMAIN` and
   * `WEB_DOMAIN`).
   */
  async function fetchFollowingRedirect(url: string): Promise<FetchAnswer> {
    const deadlineAt = now() + lookupTimeoutMs
    const firstResponse = await sendGet(url, deadlineAt)
    const location = redirectStatuses.has(firstResponse.status) ? firstResponse.headers.get('location') : null
    if (location === null) return firstResponse
    const redirectUrl = parseUrl(location, url)
    limitRequest(new URL(url).hostname, redirectUrl?.hostname ?? '')
    return sendGet(redirectUrl?.href ?? '', deadlineAt)
  }

  /** Limits the requests to one host that handles on another host cause. @throws Rejection `rate_limited` */
  function limitRequest(fromHost: string, toHost: string): void {
    if (toHost === fromHost) return
    pairLimit.consume(`${fromHost} ${toHost}`)
    domainLimit.consume(toHost)
  }

  async function sendGet(url: string, deadlineAt: number): Promise<FetchAnswer> {
    if (isBlockedUrl(url)) throw new Undeliverable('Cannot look up address: its host is blocked')
    return fetch(url, { headers: { accept }, maxBytes: 64 * 1024, timeoutMs: Math.max(1, deadlineAt - now()) })
  }

  /**
   * Finds the canonical name and the actor of an address.
   * @throws Unavailable, Undeliverable, Rejection `rate_limited`, `malformed`, `too_large`
   */
  async function find(address: Address) {
    const name = `acct:${address.local}@${address.domain}`
    const url = `https://${address.domain}/.well-known/webfinger?resource=${encodeURIComponent(name)}`
    const response = await fetchFollowingRedirect(url)
    if (response.status >= 500 || response.status === 429) {
      throw new Unavailable(`Cannot look up address: the answer is ${response.status}`)
    }
    const type = parseMediaType(response.headers.get('content-type') ?? '')?.type
    if (response.status !== 200 || !jrdTypes.has(type))
      throw new Undeliverable('Cannot look up address: it is not known')
    return readDescriptor(parseBoundedJson(response.body, { maxDepth: 8, label: 'JRD' }))
  }

  return { find, limitRequest }
}

/** Reads a descriptor (RFC 7033): the canonical form of the name, and its actor. */
function readDescriptor(document: unknown) {
  const json = asObject(document)
  const link = listOf(json?.links)
    .slice(0, 50)
    .map(asObject)
    .find(entry => entry?.rel === 'self' && actorTypes.has(parseMediaType(textOf(entry.type) ?? '')?.type))
  return { subject: textOf(json?.subject), actor: textOf(link?.href) }
}
