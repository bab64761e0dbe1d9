// Asks WebFinger (RFC 7033) for the actor of a name.

import { parseBoundedJson, parseMediaType } from '@postern/http'
import { createRateLimit } from '@postern/limits'
import type { Address, FetchAnswer, System } from '@postern/message'
import { parseUrl, Unavailable, Undeliverable } from '@postern/message'
import { asObject, listOf, textOf } from '../format/json-object.ts'
import { activityJson } from '../format/media-types.ts'

export type WebFinger = ReturnType<typeof createWebFinger>

interface WebFingerDeps extends Pick<System, 'fetch' | 'now'> {
  isBlockedAddress(url: string): boolean
}

/** The most requests a minute that strangers can cause on a domain that is not theirs: by one host, and by all together. */
const ceilings = { ofHost: 60, ofAll: 600 } as const

const nameTotalMs = 5_000

const accept = 'application/jrd+json, application/json'

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

const jrdTypes: ReadonlySet<string | undefined> = new Set(['application/jrd+json', 'application/json'])

const actorTypes: ReadonlySet<string | undefined> = new Set([activityJson, 'application/ld+json'])

/** Creates the client of WebFinger. Strangers choose the names, so requests to other domains are limited. */
export function createWebFinger({ fetch, now, isBlockedAddress }: WebFingerDeps) {
  const ofHost = createRateLimit({ perMinute: ceilings.ofHost }, now)
  const ofAll = createRateLimit({ perMinute: ceilings.ofAll }, now)

  /**
   * Fetches a name and follows one redirect, from the domain of the handles to the server (Mastodon's split domain).
   */
  async function ask(url: string): Promise<FetchAnswer> {
    const deadline = now() + nameTotalMs
    const first = await get(url, deadline)
    const location = redirectStatuses.has(first.status) ? first.headers.get('location') : null
    if (location === null) return first
    const next = parseUrl(location, url)
    countElsewhere(new URL(url).hostname, next?.hostname ?? '')
    return get(next?.href ?? '', deadline)
  }

  /** Counts a request to `other` that a name on `host` causes. @throws Rejection `rate_limited` */
  function countElsewhere(host: string, other: string): void {
    if (other === host) return
    ofHost.consume(`${host} ${other}`)
    ofAll.consume(other)
  }

  async function get(url: string, deadline: number): Promise<FetchAnswer> {
    if (isBlockedAddress(url)) throw new Undeliverable('Cannot look up address: its host is blocked')
    return fetch(url, { headers: { accept }, maxBytes: 64 * 1024, timeoutMs: Math.max(1, deadline - now()) })
  }

  /**
   * Finds the canonical name and the actor of an address.
   * @throws Unavailable, Undeliverable, Rejection `rate_limited`, `malformed`, `too_large`
   */
  async function find(address: Address) {
    const name = `acct:${address.local}@${address.domain}`
    const url = `https://${address.domain}/.well-known/webfinger?resource=${encodeURIComponent(name)}`
    const answer = await ask(url)
    if (answer.status >= 500 || answer.status === 429) {
      throw new Unavailable(`Cannot look up address: the answer is ${answer.status}`)
    }
    const type = parseMediaType(answer.headers.get('content-type') ?? '')?.type
    if (answer.status !== 200 || !jrdTypes.has(type)) throw new Undeliverable('Cannot look up address: it is not known')
    return readDescriptor(parseBoundedJson(answer.body, { maxDepth: 8, what: 'JRD' }))
  }

  return { find, countElsewhere }
}

/** Reads the answer about a name (RFC 7033): its canonical form, and its actor. */
function readDescriptor(document: unknown) {
  const json = asObject(document)
  const link = listOf(json?.links)
    .slice(0, 50)
    .map(asObject)
    .find(entry => entry?.rel === 'self' && actorTypes.has(parseMediaType(textOf(entry.type) ?? '')?.type))
  return { subject: textOf(json?.subject), actor: textOf(link?.href) }
}
