import type { Address, FetchAnswer, Platform } from '@postern/core'
import { formatAddress, parseAddress, parseUrl, Rejection, Unavailable, Undeliverable } from '@postern/core'
import { createRateLimit, parseBoundedJson, parseMediaType } from '@postern/http'
import { createExpiringMap } from '../cache/expiring-map.ts'
import { createSharedWork } from '../cache/shared-work.ts'
import { asObject, listOf, textOf } from '../format/reading.ts'
import { activityJson } from '../format/vocabulary.ts'
import type { IsBlocked } from './blocklist.ts'
import { isBlockedAddress } from './blocklist.ts'
import type { RemoteActor } from './remote-actor.ts'

/** What WebFinger says about a name (RFC 7033): its canonical form, and its actor. */
interface Descriptor {
  readonly subject: string | undefined
  readonly actor: string | undefined
}

export interface Handles {
  /**
   * `@user@host` of an actor, when its host and the name's domain both say so; else undefined. Whatever a peer answers, it is
   * no error. @throws Rejection `forbidden` when the name is of a blocked domain, which is not asked
   */
  confirm(actor: RemoteActor): Promise<string | undefined>
  /**
   * The actor IRI behind an address. `isCounted`: strangers may have chosen it (they had an agent say it), so look-ups on its domain are bounded.
   * @throws Unavailable, Undeliverable, Rejection `rate_limited`
   */
  resolve(address: string, options?: { readonly isCounted?: boolean | undefined }): Promise<string>
  /** The actor IRI behind an address, if it was resolved lately. */
  recall(address: string): string | undefined
}

/** What came of a look at an actor's name. */
interface Named {
  readonly address: string | undefined
  readonly isBlocked?: true
}

const withheld: Named = { address: undefined }
const keepMs = { confirmed: 86_400_000, withheld: 5 * 60_000 } as const
const maxNames = 10_000
/** Look-ups a minute that strangers can make us do on a domain that is not theirs: of one host, and of all together. */
const ceilings = { ofHost: 60, ofAll: 600 } as const
const totalMs = 5_000
const accept = 'application/jrd+json, application/json'
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const jrdTypes: ReadonlySet<string | undefined> = new Set(['application/jrd+json', 'application/json'])
const actorTypes: ReadonlySet<string | undefined> = new Set([activityJson, 'application/ld+json'])

interface HandleDeps extends Pick<Platform, 'fetch' | 'now'> {
  readonly isBlocked: IsBlocked
}

export function createHandles({ fetch, now, isBlocked }: HandleDeps): Handles {
  const confirmed = createExpiringMap<Named>(maxNames, now)
  const resolved = createExpiringMap<string>(maxNames, now)
  const share = createSharedWork<Named>()
  const ofHost = createRateLimit({ perMinute: ceilings.ofHost }, now)
  const ofAll = createRateLimit({ perMinute: ceilings.ofAll }, now)

  /** One redirect, which leads from the domain of the handles to the server (Mastodon's split domain). */
  async function ask(url: string): Promise<FetchAnswer> {
    const deadline = now() + totalMs
    const first = await get(url, deadline)
    const location = redirectStatuses.has(first.status) ? first.headers.get('location') : null
    if (location === null) return first
    const next = parseUrl(location, url)
    takeElsewhere(new URL(url).hostname, next?.hostname ?? '')
    return get(next?.href ?? '', deadline)
  }

  /** @throws Rejection `rate_limited` */
  function takeElsewhere(host: string, other: string): void {
    if (other === host) return
    ofHost.take(`${host} ${other}`)
    ofAll.take(other)
  }

  async function get(url: string, deadline: number): Promise<FetchAnswer> {
    if (isBlockedAddress(url, isBlocked)) throw new Undeliverable('Cannot look up address: its host is blocked')
    return fetch(url, { headers: { accept }, maxBytes: 64 * 1024, timeoutMs: Math.max(1, deadline - now()) })
  }

  async function find(address: Address): Promise<Descriptor> {
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

  /** The name's domain may differ from the actor's host: then the domain has to say the same. */
  async function confirmName({ id, host, username }: RemoteActor): Promise<Named> {
    const asked = username ? toAddress(`${username}@${host}`) : undefined
    if (!asked) return withheld
    const first = await find(asked)
    const named = toAddress(first.subject)
    if (first.actor !== id || named?.local !== asked.local) return withheld
    if (named.domain === asked.domain) return { address: formatAddress(named) }
    if (isBlocked(named.domain)) return { ...withheld, isBlocked: true }
    takeElsewhere(host, named.domain)
    const second = await find(named)
    const repeated = toAddress(second.subject)
    const isSame = second.actor === id && repeated?.local === named.local && repeated.domain === named.domain
    return isSame ? { address: formatAddress(named) } : withheld
  }

  async function name(actor: RemoteActor): Promise<Named> {
    const known = confirmed.get(actor.id)
    if (known) return known
    const named = await share(actor.id, () => confirmName(actor).catch(withholdName))
    confirmed.set(actor.id, named, named.address ? keepMs.confirmed : keepMs.withheld)
    return named
  }

  return {
    async confirm(actor) {
      const named = await name(actor)
      if (named.isBlocked) throw new Rejection('forbidden', 'Cannot accept activity: its host is blocked')
      return named.address
    },
    async resolve(text, { isCounted = false } = {}) {
      const known = resolved.get(text)
      if (known) return known
      const address = toAddress(text)
      if (address && isCounted) takeElsewhere('', address.domain)
      const actor = address && (await findActor(address, find))
      if (!actor) throw new Undeliverable('Cannot look up address: it names no actor')
      resolved.set(text, actor, keepMs.confirmed)
      return actor
    },
    recall: text => resolved.get(text),
  }
}

/** A peer that cannot be asked, or answers nonsense, confirms nothing. */
function withholdName(error: unknown): Named {
  if (error instanceof Unavailable || error instanceof Undeliverable || error instanceof Rejection) return withheld
  throw error
}

async function findActor(
  address: Address,
  find: (address: Address) => Promise<Descriptor>,
): Promise<string | undefined> {
  try {
    return (await find(address)).actor
  } catch (error) {
    if (!(error instanceof Rejection) || error.code === 'rate_limited') throw error
    throw new Undeliverable('Cannot look up address: the answer cannot be read', { cause: error })
  }
}

function readDescriptor(document: unknown): Descriptor {
  const json = asObject(document)
  const link = listOf(json?.links)
    .slice(0, 50)
    .map(asObject)
    .find(entry => entry?.rel === 'self' && actorTypes.has(parseMediaType(textOf(entry.type) ?? '')?.type))
  return { subject: textOf(json?.subject), actor: textOf(link?.href) }
}

function toAddress(text: string | undefined): Address | undefined {
  if (!text) return undefined
  try {
    return parseAddress(text)
  } catch {
    return undefined
  }
}
