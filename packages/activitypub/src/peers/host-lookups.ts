import type { Address, FetchAnswer, Platform } from '@postern/core'
import { formatAddress, parseAddress, parseUrl, Rejection, Unavailable, Undeliverable } from '@postern/core'
import { parseBoundedJson, parseMediaType } from '@postern/http'
import { createExpiringMap, createRateLimit, createSingleFlight } from '@postern/limits'
import { activityJson, asObject, findHost, listOf, parseIri, textOf } from '../format/document.ts'
import type { IsBlocked, RemoteActor, RemoteActors } from './actors.ts'
import { isBlockedAddress } from './actors.ts'
import { commonLength, readInstanceLength, readLength, softwareNamed } from './post-lengths.ts'

export interface Handles {
  /**
   * `@user@host` of an actor, when its host and the name's domain both confirm it; else undefined. A bad answer of a
   * peer is no error.
   * @throws Rejection `forbidden` when the name is of a blocked domain, which is not asked
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

/** The result of a look at an actor's name. */
interface Named {
  readonly address: string | undefined
  readonly isBlocked?: true
}

interface ConfirmDeps {
  readonly lookup: NameLookup
  readonly isBlocked: IsBlocked
}

const withheld: Named = { address: undefined }
const keepMs = { confirmed: 86_400_000, withheld: 5 * 60_000 } as const
const maxNames = 10_000

export function createHandles(deps: NameLookupDeps): Handles {
  const { now, isBlocked } = deps
  const lookup = createNameLookup(deps)
  const confirmed = createExpiringMap<Named>(maxNames, now)
  const resolved = createExpiringMap<string>(maxNames, now)
  const share = createSingleFlight<Named>()

  async function name(actor: RemoteActor): Promise<Named> {
    const known = confirmed.get(actor.id)
    if (known) return known
    const named = await share(actor.id, () => confirmName(actor, { lookup, isBlocked }).catch(withholdName))
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
      if (address && isCounted) lookup.countElsewhere('', address.domain)
      const actor = address && (await findActor(address, lookup))
      if (!actor) throw new Undeliverable('Cannot look up address: it names no actor')
      resolved.set(text, actor, keepMs.confirmed)
      return actor
    },
    recall: text => resolved.get(text),
  }
}

/** A name's domain may differ from the actor's host: then that domain has to give the same answer. */
async function confirmName({ id, host, username }: RemoteActor, { lookup, isBlocked }: ConfirmDeps): Promise<Named> {
  const asked = username ? toAddress(`${username}@${host}`) : undefined
  if (!asked) return withheld
  const first = await lookup.find(asked)
  const named = toAddress(first.subject)
  if (first.actor !== id || named?.local !== asked.local) return withheld
  if (named.domain === asked.domain) return { address: formatAddress(named) }
  if (isBlocked(named.domain)) return { ...withheld, isBlocked: true }
  lookup.countElsewhere(host, named.domain)
  const second = await lookup.find(named)
  const repeated = toAddress(second.subject)
  const isSame = second.actor === id && repeated?.local === named.local && repeated.domain === named.domain
  return isSame ? { address: formatAddress(named) } : withheld
}

/** A peer that cannot be asked, or answers nonsense, confirms nothing. */
function withholdName(error: unknown): Named {
  if (error instanceof Unavailable || error instanceof Undeliverable || error instanceof Rejection) return withheld
  throw error
}

async function findActor(address: Address, lookup: NameLookup): Promise<string | undefined> {
  try {
    return (await lookup.find(address)).actor
  } catch (error) {
    if (!(error instanceof Rejection) || error.code === 'rate_limited') throw error
    throw new Undeliverable('Cannot look up address: the answer cannot be read', { cause: error })
  }
}

/** The answer of WebFinger about a name (RFC 7033): its canonical form, and its actor. */
interface Descriptor {
  readonly subject: string | undefined
  readonly actor: string | undefined
}

/** Look-ups of names, by WebFinger. Strangers choose the names, so look-ups on other domains are bounded. */
interface NameLookup {
  /** @throws Unavailable, Undeliverable, Rejection `rate_limited`, `malformed`, `too_large` */
  find(address: Address): Promise<Descriptor>
  /** Counts a look-up on `other` that a name on `host` causes. @throws Rejection `rate_limited` */
  countElsewhere(host: string, other: string): void
}

interface NameLookupDeps extends Pick<Platform, 'fetch' | 'now'> {
  readonly isBlocked: IsBlocked
}

/** Look-ups a minute that strangers can cause on a domain that is not theirs: by one host, and by all together. */
const ceilings = { ofHost: 60, ofAll: 600 } as const
const nameTotalMs = 5_000
const accept = 'application/jrd+json, application/json'
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const jrdTypes: ReadonlySet<string | undefined> = new Set(['application/jrd+json', 'application/json'])
const actorTypes: ReadonlySet<string | undefined> = new Set([activityJson, 'application/ld+json'])

function createNameLookup({ fetch, now, isBlocked }: NameLookupDeps): NameLookup {
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

  function countElsewhere(host: string, other: string): void {
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

  return { find, countElsewhere }
}

function readDescriptor(document: unknown): Descriptor {
  const json = asObject(document)
  const link = listOf(json?.links)
    .slice(0, 50)
    .map(asObject)
    .find(entry => entry?.rel === 'self' && actorTypes.has(parseMediaType(textOf(entry.type) ?? '')?.type))
  return { subject: textOf(json?.subject), actor: textOf(link?.href) }
}

/** Undefined for a text that is no address. */
function toAddress(text: string | undefined): Address | undefined {
  if (!text) return undefined
  try {
    return parseAddress(text)
  } catch {
    return undefined
  }
}

/** The actor behind an address, when its own host calls it by that address, too; else undefined. @throws like `Handles` and `RemoteActors` */
export function createPrincipalFinder({ handles, actors }: { handles: Handles; actors: RemoteActors }) {
  return async (address: string): Promise<string | undefined> => {
    const actor = await actors.find(parseIri(await handles.resolve(address), 'the account'))
    return actor && (await handles.confirm(actor)) === address ? actor.id : undefined
  }
}

/** How long a post may be for the people of a host: a hint, by which long answers are cut. */
export interface PeerLimits {
  /** Characters, as far as is known now; 500 for a host that was not asked, or did not answer. */
  recall(host: string): number
  /** Asks the host unless it was asked lately; those who ask at the same time wait for one look-up. Never throws. */
  learn(host: string): Promise<void>
}

const lengthKeptMs = { told: 86_400_000, failed: 3_600_000 } as const
const maxHosts = 5_000
/** For all requests to one host. */
const limitsTotalMs = 10_000
const maxDescriptionBytes = 256 * 1024
const maxLinks = 20
/** Newest first. */
const schemas = ['2.2', '2.1', '2.0', '1.1', '1.0'].map(
  version => `http://nodeinfo.diaspora.software/ns/schema/${version}`,
)

/** Fetches JSON from that host, and from nowhere else. @throws Unavailable, Undeliverable, Rejection */
type GetJson = (url: string) => Promise<unknown>

interface Learnt {
  readonly length: number
  /** Whether the host itself gave the limit, or answered well enough that we know its software. */
  readonly isTold: boolean
}

export function createPeerLimits({ fetch, now }: Pick<Platform, 'fetch' | 'now'>): PeerLimits {
  const known = createExpiringMap<number>(maxHosts, now)
  const share = createSingleFlight<void>()

  function openHost(): GetJson {
    const deadline = now() + limitsTotalMs
    return async url => {
      const timeoutMs = deadline - now()
      if (timeoutMs <= 0) throw new Unavailable('Cannot look up limits: no answer in time')
      const { status, headers, body } = await fetch(url, {
        timeoutMs,
        maxBytes: maxDescriptionBytes,
        headers: { accept: 'application/json' },
      })
      const type = parseMediaType(headers.get('content-type') ?? '')?.type ?? ''
      if (status !== 200 || !/^application\/(?:[\w.-]+\+)?json$/.test(type)) {
        throw new Undeliverable('Cannot look up limits: the answer is no JSON')
      }
      return parseBoundedJson(body, { maxDepth: 16, what: 'description' })
    }
  }

  async function look(host: string): Promise<void> {
    const { length, isTold } = await findLength(host, openHost()).catch(() => unknownLength)
    known.set(host, length, isTold ? lengthKeptMs.told : lengthKeptMs.failed)
  }

  return {
    recall: host => known.get(host) ?? commonLength,
    async learn(host) {
      if (known.get(host) === undefined) await share(host, () => look(host))
    },
  }
}

const unknownLength: Learnt = { length: commonLength, isTold: false }

/** The limit in NodeInfo, or else in the instance document, or else the default of its software. */
async function findLength(host: string, getJson: GetJson): Promise<Learnt> {
  const nodeInfo = await fetchNodeInfo(host, getJson)
  const length = readLength(asObject(nodeInfo?.metadata)?.maxNoteTextLength)
  if (length !== undefined) return { length, isTold: true }
  const software = softwareNamed(textOf(asObject(nodeInfo?.software)?.name))
  if (!software.hasInstanceApi) return { length: software.length, isTold: true }
  const told = await findInstanceLength(host, getJson)
  return { length: told ?? software.length, isTold: told !== undefined }
}

async function fetchNodeInfo(host: string, getJson: GetJson): Promise<ReturnType<typeof asObject>> {
  if (findHost(`https://${host}/`) !== host) throw new Undeliverable('Cannot look up limits: the host is no name')
  const discovery = asObject(await getJson(`https://${host}/.well-known/nodeinfo`))
  const links = listOf(discovery?.links).slice(0, maxLinks).map(asObject)
  const hrefs = schemas.map(schema => textOf(links.find(link => link?.rel === schema)?.href))
  const href = hrefs.find(href => href !== undefined && findHost(href) === host)
  if (!href) throw new Undeliverable('Cannot look up limits: there is no description on the same host')
  return asObject(await getJson(href))
}

async function findInstanceLength(host: string, getJson: GetJson): Promise<number | undefined> {
  for (const version of ['v2', 'v1']) {
    const length = await getJson(`https://${host}/api/${version}/instance`).then(readInstanceLength, () => undefined)
    if (length !== undefined) return length
  }
  return undefined
}
