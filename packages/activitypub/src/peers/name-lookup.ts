import type { Address, FetchAnswer, Platform } from '@postern/core'
import { formatAddress, parseIfAddress, parseUrl, Rejection, Unavailable, Undeliverable } from '@postern/core'
import { parseBoundedJson, parseMediaType } from '@postern/http'
import { createRateLimit } from '@postern/limits'
import { activityJson, asObject, listOf, textOf } from '../format/document.ts'
import type { RemoteActor } from './actor-document.ts'

/** The result of a look at an actor's name. */
export interface Named {
  readonly address: string | undefined
  readonly isBlocked?: true
}

interface ConfirmDeps {
  readonly lookup: NameLookup
  isBlocked(host: string): boolean
}

const withheld: Named = { address: undefined }

/** A name's domain may differ from the actor's host: then that domain has to give the same answer. */
export async function confirmName(
  { id, host, username }: RemoteActor,
  { lookup, isBlocked }: ConfirmDeps,
): Promise<Named> {
  const asked = username ? parseIfAddress(`${username}@${host}`) : undefined
  if (!asked) return withheld
  const first = await lookup.find(asked)
  const named = parseIfAddress(first.subject ?? '')
  if (first.actor !== id || named?.local !== asked.local) return withheld
  if (named.domain === asked.domain) return { address: formatAddress(named) }
  if (isBlocked(named.domain)) return { ...withheld, isBlocked: true }
  lookup.countElsewhere(host, named.domain)
  const second = await lookup.find(named)
  const repeated = parseIfAddress(second.subject ?? '')
  const isSame = second.actor === id && repeated?.local === named.local && repeated.domain === named.domain
  return isSame ? { address: formatAddress(named) } : withheld
}

/** A peer that cannot be asked, or answers nonsense, confirms nothing. */
export function withholdName(error: unknown): Named {
  if (error instanceof Unavailable || error instanceof Undeliverable || error instanceof Rejection) return withheld
  throw error
}

export async function askForActor(address: Address, lookup: NameLookup): Promise<string | undefined> {
  try {
    return (await lookup.find(address)).actor
  } catch (error) {
    if (!(error instanceof Rejection) || error.code === 'rate_limited') throw error
    throw new Undeliverable('Cannot look up address: the answer cannot be read', { cause: error })
  }
}

type NameLookup = ReturnType<typeof createNameLookup>

interface NameLookupDeps extends Pick<Platform, 'fetch' | 'now'> {
  isBlockedAddress(url: string): boolean
}

/** Look-ups a minute that strangers can cause on a domain that is not theirs: by one host, and by all together. */
const ceilings = { ofHost: 60, ofAll: 600 } as const
const nameTotalMs = 5_000
const accept = 'application/jrd+json, application/json'
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const jrdTypes: ReadonlySet<string | undefined> = new Set(['application/jrd+json', 'application/json'])
const actorTypes: ReadonlySet<string | undefined> = new Set([activityJson, 'application/ld+json'])

/** Look-ups of names, by WebFinger. Strangers choose the names, so look-ups on other domains are bounded. */
export function createNameLookup({ fetch, now, isBlockedAddress }: NameLookupDeps) {
  const ofHost = createRateLimit({ perMinute: ceilings.ofHost }, now)
  const ofAll = createRateLimit({ perMinute: ceilings.ofAll }, now)

  /** Follows one redirect: from the domain of the handles to the server (Mastodon's split domain). */
  async function ask(url: string): Promise<FetchAnswer> {
    const deadline = now() + nameTotalMs
    const first = await get(url, deadline)
    const location = redirectStatuses.has(first.status) ? first.headers.get('location') : null
    if (location === null) return first
    const next = parseUrl(location, url)
    countElsewhere(new URL(url).hostname, next?.hostname ?? '')
    return get(next?.href ?? '', deadline)
  }

  /** Counts a look-up on `other` that a name on `host` causes. @throws Rejection `rate_limited` */
  function countElsewhere(host: string, other: string): void {
    if (other === host) return
    ofHost.take(`${host} ${other}`)
    ofAll.take(other)
  }

  async function get(url: string, deadline: number): Promise<FetchAnswer> {
    if (isBlockedAddress(url)) throw new Undeliverable('Cannot look up address: its host is blocked')
    return fetch(url, { headers: { accept }, maxBytes: 64 * 1024, timeoutMs: Math.max(1, deadline - now()) })
  }

  /** @throws Unavailable, Undeliverable, Rejection `rate_limited`, `malformed`, `too_large` */
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

/** The answer of WebFinger about a name (RFC 7033): its canonical form, and its actor. */
function readDescriptor(document: unknown) {
  const json = asObject(document)
  const link = listOf(json?.links)
    .slice(0, 50)
    .map(asObject)
    .find(entry => entry?.rel === 'self' && actorTypes.has(parseMediaType(textOf(entry.type) ?? '')?.type))
  return { subject: textOf(json?.subject), actor: textOf(link?.href) }
}
