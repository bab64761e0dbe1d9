import type { KeyObject } from 'node:crypto'
import type { Part, ProofKey } from '@postern/core'
import { isHostLength, parseUrl, Rejection, toAsciiDomain, toProofKey, Unavailable, Undeliverable } from '@postern/core'
import { createExpiringMap, createRateLimit, createSingleFlight } from '@postern/limits'
import type { ActivityPubConfig } from '../config.ts'
import type { Iri, JsonObject } from '../format/document.ts'
import {
  asObject,
  findWebAddress,
  idOf,
  idsOf,
  isOnOrigin,
  listOf,
  readHref,
  textOf,
  typeOf,
} from '../format/document.ts'
import { cleanName } from '../html/note-reading.ts'
import { parseMultikey, parsePublicKeyPem } from '../signature/public-keys.ts'

/** The result of a look-up. It remembers errors too, so that a bad name costs one fetch in a while. */
type Found = { readonly actor: RemoteActor } | Refused
type Refused =
  | { readonly actor?: undefined; readonly state: 'gone' | 'missing' }
  | { readonly actor?: undefined; readonly error: Unavailable | Undeliverable }

export interface RemoteActors {
  /**
   * The actor with this IRI, from memory or from its origin; undefined when there is none, any more or at all.
   * @throws Unavailable, Undeliverable, Rejection `rate_limited`
   */
  find(iri: Iri): Promise<RemoteActor | undefined>
  /** Whether `find` answers from memory. */
  knows(iri: Iri): boolean
  /** Fetches again, once in a while: undefined when it is too early, or the actor is gone. @throws like `find` */
  refresh(iri: Iri): Promise<RemoteActor | undefined>
  /** Whether its origin recently answered that it is gone for good (410). */
  isGone(iri: Iri): boolean
}

export interface LookUpDeps {
  readonly fetchDocument: FetchDocument
  now(): number
}

const maxActors = 5_000
const keepMs = { found: 86_400_000, refused: 5 * 60_000, unavailable: 30_000, refetched: 60_000 } as const
/** Look-ups a minute that strangers can make us do. Each costs a signature: only so many in all may come at once. */
const ceilings = { perHost: 600, inAll: 6_000, atOnce: 300 } as const

export function createActorCache({ fetchDocument, now }: LookUpDeps): RemoteActors {
  const known = createExpiringMap<RemoteActor>(maxActors, now)
  // A cache of its own, so that unknown names cannot crowd out the actors that write to us.
  const refused = createExpiringMap<Refused>(maxActors, now)
  const refetched = createExpiringMap<true>(maxActors, now)
  const share = createSingleFlight<Found>()
  const countLookUp = limitLookUps(ceilings, now)

  /** A failed look does not push out what is known: a forged signature must not lock the honest actor out. */
  async function look(iri: Iri): Promise<Found> {
    countLookUp(iri.host)
    const found = await lookUp(iri, fetchDocument)
    if (found.actor) known.set(iri.href, found.actor, keepMs.found)
    else if (!('error' in found) || !known.get(iri.href)) refuse(iri.href, found)
    return found
  }

  function refuse(href: string, found: Refused): void {
    known.delete(href)
    refused.set(href, found, keepMs[kindOf(found)])
  }

  function recall(href: string): Found | undefined {
    const actor = known.get(href)
    return actor ? { actor } : refused.get(href)
  }

  return {
    async find(iri) {
      return openFound(recall(iri.href) ?? (await share(iri.href, () => look(iri))))
    },
    knows: iri => recall(iri.href) !== undefined,
    async refresh(iri) {
      if (refetched.get(iri.href)) return undefined
      refetched.set(iri.href, true, keepMs.refetched)
      return openFound(await share(iri.href, () => look(iri)))
    },
    isGone(iri) {
      const found = recall(iri.href)
      return found !== undefined && 'state' in found && found.state === 'gone'
    },
  }
}

type LookUpCeilings = Readonly<Record<'perHost' | 'inAll', number>> & { readonly atOnce?: number }

/** Counts look-ups that strangers make us do, by the minute. What it returns throws a Rejection `rate_limited` beyond a ceiling. */
export function limitLookUps({ perHost, inAll, atOnce = inAll }: LookUpCeilings, now: () => number) {
  const ofHost = createRateLimit({ perMinute: perHost }, now)
  const ofAll = createRateLimit({ perMinute: inAll, burst: atOnce }, now)
  return (host: string): void => {
    ofHost.take(host)
    ofAll.take('')
  }
}

async function lookUp(iri: Iri, fetchDocument: FetchDocument): Promise<Found> {
  try {
    const fetched = await fetchDocument(iri.href)
    return fetched.state === 'found' ? { actor: parseActor(fetched.document, iri) } : { state: fetched.state }
  } catch (error) {
    if (error instanceof Unavailable || error instanceof Undeliverable) return { error }
    throw error
  }
}

function kindOf(found: Refused): 'refused' | 'unavailable' {
  return 'error' in found && found.error instanceof Unavailable ? 'unavailable' : 'refused'
}

function openFound(found: Found): RemoteActor | undefined {
  if ('error' in found) throw found.error
  return found.actor
}

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

/** The actor of a peer, as its own document describes it. */
export interface RemoteActor {
  readonly id: string
  readonly host: string
  /** Ready to verify with, by key id. A key this document does not list does not speak for this actor. */
  readonly keys: ReadonlyMap<string, KeyObject>
  /** Those that also speak for documents (FEP-521a, `assertionMethod`). */
  readonly assertionKeys: ReadonlyMap<string, KeyObject>
  readonly inbox: string | undefined
  /** Only when it lives on the actor's own origin. */
  readonly sharedInbox: string | undefined
  readonly followers: string | undefined
  readonly username: string | undefined
  readonly name: string | undefined
  readonly url: string | undefined
  /** A machine, by its own account (`Service`, `Application`): what bots and whole servers call themselves. */
  readonly isAutomated: boolean
  /** Other accounts it calls its own (`alsoKnownAs`); they need not agree. */
  readonly aliases: ReadonlySet<string>
  readonly icon: { readonly url: string; readonly mediaType?: string | undefined } | undefined
}

const maxKeys = 8
const maxAliases = 20
const isShort = (iri: string) => iri.length <= 512
const automatedTypes: ReadonlySet<string | undefined> = new Set(['Service', 'Application'])

/**
 * Reads an actor document fetched from the origin of `iri`. Thousands are remembered, so each member has a longest size.
 * @throws Undeliverable when it is not that actor's own document
 */
export function parseActor(document: unknown, iri: Iri): RemoteActor {
  const json = asObject(document)
  if (!json || json.id !== iri.href) throw new Undeliverable('Cannot read actor: the document is of another actor')
  const username = textOf(json.preferredUsername)
  const assertionKeys = readMultikeys(json.assertionMethod, iri)
  const otherMultikeys = readMultikeys(json.authentication, iri)
  return {
    id: iri.href,
    host: iri.host,
    keys: new Map([...otherMultikeys, ...assertionKeys, ...readKeys(json, iri)]),
    assertionKeys,
    inbox: idOf(json.inbox),
    sharedInbox: readSharedInbox(json, iri),
    followers: idOf(json.followers),
    username: username && isPlainUsername(username) ? username : undefined,
    name: cleanName(textOf(json.name)),
    url: findWebAddress(idOf(listOf(json.url).map(readHref).find(Boolean))),
    isAutomated: automatedTypes.has(typeOf(json)),
    aliases: new Set(idsOf(json.alsoKnownAs).filter(isShort).slice(0, maxAliases)),
    icon: readIcon(json.icon),
  }
}

/** Names that read differently from how they are stored (bidi, controls, look-alikes) are withheld. */
function isPlainUsername(name: string): boolean {
  return /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9_])?$/.test(name)
}

function readKeys(json: JsonObject, { href, origin }: Iri): ReadonlyMap<string, KeyObject> {
  const keys = new Map<string, KeyObject>()
  for (const entry of listOf(json.publicKey).slice(0, maxKeys).map(asObject)) {
    const id = idOf(entry?.id)
    const owner = entry?.owner ?? href
    const key = parsePublicKeyPem(textOf(entry?.publicKeyPem) ?? '')
    if (id && key && owner === href && isOnOrigin(id, origin)) keys.set(id, key)
  }
  return keys
}

/** Ed25519 keys embedded in the document; references to other documents prove nothing. */
function readMultikeys(value: unknown, { href, origin }: Iri): ReadonlyMap<string, KeyObject> {
  const keys = new Map<string, KeyObject>()
  for (const entry of listOf(value).slice(0, maxKeys).map(asObject)) {
    const id = idOf(entry?.id)
    const key = entry?.type === 'Multikey' ? parseMultikey(textOf(entry.publicKeyMultibase) ?? '') : undefined
    if (id && key && entry?.controller === href && isOnOrigin(id, origin)) keys.set(id, key)
  }
  return keys
}

function readSharedInbox(json: JsonObject, { origin }: Iri): string | undefined {
  const shared = idOf(asObject(json.endpoints)?.sharedInbox)
  return shared && isOnOrigin(shared, origin) ? shared : undefined
}

function readIcon(value: unknown): RemoteActor['icon'] {
  const [icon] = listOf(value)
  const url = findWebAddress(idOf(readHref(asObject(icon)?.url ?? icon)))
  const mediaType = cleanName(textOf(asObject(icon)?.mediaType))
  return url ? { url, ...(mediaType && { mediaType }) } : undefined
}

/**
 * Whether a host is blocked: nothing is accepted, fetched or sent there. `host` is lower-case A-labels, without port.
 */
export type IsBlocked = (host: string) => boolean

/** A blocked host stays blocked, allowed or not. With an allow list, all other hosts are blocked, too. */
export function createBlocklist({ block, allow }: Pick<ActivityPubConfig, 'block' | 'allow'>): IsBlocked {
  const isNamedBlocked = matchDomains(block)
  const isAllowed = allow.length === 0 ? () => true : matchDomains(allow)
  // No such host can exist, and each label costs a look.
  return host => !isHostLength(host) || isNamedBlocked(host) || !isAllowed(host)
}

/**
 * A domain covers itself and everything below it. That takes one look for each of at most 127 labels, however long the
 * list is.
 */
function matchDomains(domains: readonly string[]): (host: string) => boolean {
  const listed = new Set(domains.map(toAsciiDomain))
  if (listed.size === 0) return () => false
  return host => {
    for (let rest: string | undefined = dropRootDots(host); rest; rest = parentOf(rest))
      if (listed.has(rest)) return true
    return false
  }
}

function dropRootDots(host: string): string {
  return host.endsWith('.') ? host.replace(/\.+$/, '') : host
}

function parentOf(host: string): string | undefined {
  const dot = host.indexOf('.')
  return dot < 0 ? undefined : host.slice(dot + 1)
}

/** Whether a web address, of whatever scheme, is on a blocked host. A text that is no address is on none. */
export function isBlockedAddress(url: string, isBlocked: IsBlocked): boolean {
  const host = parseUrl(url)?.hostname
  return host !== undefined && isBlocked(host)
}

/** Whether a link or a file leads to a blocked host. */
export function isBlockedPart(part: Part, isBlocked: IsBlocked): boolean {
  if (part.kind === 'link') return isBlockedAddress(part.url, isBlocked)
  return part.kind === 'file' && part.bytes_ref.kind === 'url' && isBlockedAddress(part.bytes_ref.url, isBlocked)
}

/**
 * Whether the object of an activity comes from a blocked host, by its id or by its author. Posts of a blocked domain
 * come in this way through others: boosted, or by a relay (CVE-2026-23961).
 */
export function isAboutBlocked(activity: Readonly<Record<string, unknown>>, isBlocked: IsBlocked): boolean {
  const id = idOf(activity.object)
  const named = [...(id ? [id] : []), ...idsOf(asObject(activity.object)?.attributedTo)]
  return named.some(iri => isBlockedAddress(iri, isBlocked))
}

/** When the peer refuses to show its document or shows a wrong one, the signer failed, not this gateway. */
export async function asPeersFault<Result>(look: () => Promise<Result>): Promise<Result> {
  try {
    return await look()
  } catch (cause) {
    if (cause instanceof Undeliverable) {
      throw new Rejection('signature_invalid', "Cannot verify activity: its actor's document cannot be had", { cause })
    }
    if (cause instanceof Unavailable) {
      const { retryAfter } = cause
      throw new Unavailable("Cannot verify activity: its actor's host does not answer", {
        cause,
        ...(retryAfter && { retryAfter }),
      })
    }
    throw cause
  }
}

/** Written once for a key, for it proves many messages. */
const written = new WeakMap<KeyObject, ProofKey>()

/** The public key of an actor as the record of a message keeps it; undefined when the actor lists none of this id. */
export function keyOf({ id, keys, assertionKeys }: RemoteActor, keyId: string | undefined): ProofKey | undefined {
  const key = keyId === undefined ? undefined : (keys.get(keyId) ?? assertionKeys.get(keyId))
  if (!key) return undefined
  const known = written.get(key)
  if (known) return known
  const made = toProofKey('pem', key.export({ type: 'spki', format: 'pem' }).toString(), id)
  written.set(key, made)
  return made
}
