import type { KeyObject } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Part, Platform, ProofKey } from '@postern/core'
import {
  isHostLength,
  parseIfAddress,
  parseUrl,
  Rejection,
  toAsciiDomain,
  toProofKey,
  Unavailable,
  Undeliverable,
} from '@postern/core'
import { createExpiringMap, createSingleFlight } from '@postern/limits'
import type { ActivityPubConfig } from '../config.ts'
import type { Iri } from '../format/document.ts'
import { asObject, idOf, idsOf, parseIri } from '../format/document.ts'
import type { RequestProof } from '../signature/request-proof.ts'
import type { RemoteActor } from './actor-document.ts'
import type { FoundActor, LookUpDeps, Refused, SignerDocuments } from './look-ups.ts'
import { isFullActor, kindOf, limitLookUps, lookUpActor } from './look-ups.ts'
import type { Named } from './name-lookup.ts'
import { askForActor, confirmName, createNameLookup, withholdName } from './name-lookup.ts'
import { askLength, commonLength } from './post-lengths.ts'

export type RemoteActors = ReturnType<typeof createActorCache>

interface ActorCacheDeps extends LookUpDeps {
  readonly documents: SignerDocuments
}

const maxActors = 5_000
const keepMs = { found: 86_400_000, refused: 5 * 60_000, unavailable: 30_000, refetched: 60_000 } as const
/** Look-ups a minute that strangers can make us do. Each may cost a signature: only so many in all may come at once. */
const ceilings = { perHost: 600, inAll: 6_000, atOnce: 300 } as const

export function createActorCache({ fetchDocument, documents, now }: ActorCacheDeps) {
  const { known, keep, recall } = createActorMemory(now)
  const refetched = createExpiringMap<true>(maxActors, now)
  const shownToAll = new WeakSet<RemoteActor>()
  const share = createSingleFlight<FoundActor>()
  const shareClaimed = createSingleFlight<FoundActor>()
  const countLookUp = limitLookUps(ceilings, now)

  async function look(iri: Iri): Promise<FoundActor> {
    countLookUp(iri.host)
    const earlier = known.get(iri.href)
    const found = await lookUpActor(iri, fetchDocument)
    if (earlier && shownToAll.has(earlier)) compare(earlier, found)
    return keep(iri.href, found)
  }

  async function lookClaimed(iri: Iri): Promise<FoundActor> {
    countLookUp(iri.host)
    const found = await lookUpActor(iri, documents.fetch, actor => shownToAll.add(actor))
    return keep(iri.href, found)
  }

  /** Once a host has shown the same to everybody and to us, its other actors need no second look. */
  function compare(provisional: RemoteActor, { actor }: FoundActor): void {
    if (actor) documents.learn(provisional.host, isDeepStrictEqual(actor, provisional))
    else known.delete(provisional.id)
  }

  /** Whether its host showed it without our signature, and may show us more or nothing. */
  const isProvisional = (actor: RemoteActor) =>
    shownToAll.has(actor) && !(documents.isOpen(actor.host) && isFullActor(actor))

  return {
    /**
     * The actor with this IRI, from memory or from its origin; undefined when there is none, any more or at all.
     * @throws Unavailable, Undeliverable, Rejection `rate_limited`
     */
    async find(iri: Iri): Promise<RemoteActor | undefined> {
      const found = recall(iri.href)
      const isEnough = found && !(found.actor && isProvisional(found.actor))
      return openFound(isEnough ? found : await share(iri.href, () => look(iri)))
    },
    /** As `find`, for somebody who claims to be this actor. It may be provisional: enough to refuse the claim. @throws like `find` */
    async findClaimed(iri: Iri): Promise<RemoteActor | undefined> {
      return openFound(recall(iri.href) ?? (await shareClaimed(iri.href, () => lookClaimed(iri))))
    },
    isProvisional,
    /** Whether `find` answers from memory. */
    knows: (iri: Iri) => recall(iri.href) !== undefined,
    /** Fetches again, once in a while: undefined when it is too early, or the actor is gone. @throws like `find` */
    async refresh(iri: Iri): Promise<RemoteActor | undefined> {
      if (refetched.get(iri.href)) return undefined
      refetched.set(iri.href, true, keepMs.refetched)
      return openFound(await share(iri.href, () => look(iri)))
    },
    /** Whether its origin recently answered that it is gone for good (410). */
    isGone: (iri: Iri) => recall(iri.href)?.state === 'gone',
  }
}

function createActorMemory(now: () => number) {
  const known = createExpiringMap<RemoteActor>(maxActors, now)
  // A cache of its own, so that unknown names cannot crowd out the actors that write to us.
  const refused = createExpiringMap<Refused>(maxActors, now)

  function refuse(href: string, found: Refused): void {
    known.delete(href)
    refused.set(href, found, keepMs[kindOf(found)])
  }

  return {
    known,
    /** A failed look does not push out what is known: a forged signature must not lock the honest actor out. */
    keep(href: string, found: FoundActor): FoundActor {
      if (found.actor) known.set(href, found.actor, keepMs.found)
      else if (!('error' in found) || !known.get(href)) refuse(href, found)
      return found
    },
    recall(href: string): FoundActor | undefined {
      const actor = known.get(href)
      return actor ? { actor } : refused.get(href)
    },
  }
}

function openFound(found: FoundActor): RemoteActor | undefined {
  if ('error' in found) throw found.error
  return found.actor
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

/** A peer claims to be `iri`, whose own document is `actor`. */
interface SignerClaim {
  readonly iri: Iri
  readonly actor: RemoteActor
  readonly proof: RequestProof
  /** Whether `actor` was in memory; else its document came just now, and another look finds no newer key. */
  readonly wasKnown: boolean
}

/** Undefined when the actor is gone for good. @throws Rejection, Unavailable */
export function findSigner(iri: Iri, actors: Pick<RemoteActors, 'findClaimed'>): Promise<RemoteActor | undefined> {
  return asPeersFault(() => actors.findClaimed(iri))
}

/**
 * The key must be listed by the actor's own document; a key that changed since is looked up once more. A document that
 * its host shows to everybody is enough to refuse: to let somebody in, the host must show it to us.
 * @throws Rejection `signer_mismatch`, `signature_invalid`; Unavailable
 */
export async function proveSigner(
  claim: SignerClaim,
  actors: Pick<RemoteActors, 'find' | 'refresh' | 'isProvisional'>,
): Promise<RemoteActor> {
  const { iri, actor } = claim
  const fault = findFault(claim)
  if (fault && isForged(claim)) throw fault
  if (actors.isProvisional(actor)) return proveBy(await findShownToUs(iri, actors), claim)
  return fault ? proveBy((await asPeersFault(() => actors.refresh(iri))) ?? actor, claim) : actor
}

async function findShownToUs(iri: Iri, actors: Pick<RemoteActors, 'find'>): Promise<RemoteActor> {
  const actor = await asPeersFault(() => actors.find(iri))
  if (!actor) throw new Rejection('signature_invalid', 'Cannot verify activity: its host does not show us its actor')
  return actor
}

/** The document that came just now lists the key, and it is another one. */
function isForged({ actor, proof, wasKnown }: SignerClaim): boolean {
  return !wasKnown && actor.keys.has(proof.keyId)
}

function proveBy(actor: RemoteActor, { proof }: Pick<SignerClaim, 'proof'>): RemoteActor {
  const fault = findFault({ actor, proof })
  if (fault) throw fault
  return actor
}

function findFault({ actor, proof }: Pick<SignerClaim, 'actor' | 'proof'>): Rejection | undefined {
  const key = actor.keys.get(proof.keyId)
  if (!key) return new Rejection('signer_mismatch', "Cannot verify activity: its actor does not list the signer's key")
  if (proof.isMadeBy(key)) return undefined
  return new Rejection('signature_invalid', 'Cannot verify activity: signature does not fit')
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

export type Handles = ReturnType<typeof createHandles>

const nameKeptMs = { confirmed: 86_400_000, withheld: 5 * 60_000 } as const
const maxNames = 10_000

interface HandleDeps extends Pick<Platform, 'fetch' | 'now'> {
  readonly isBlocked: IsBlocked
}

export function createHandles({ fetch, now, isBlocked }: HandleDeps) {
  const lookup = createNameLookup({ fetch, now, isBlockedAddress: url => isBlockedAddress(url, isBlocked) })
  const confirmed = createExpiringMap<Named>(maxNames, now)
  const resolved = createExpiringMap<string>(maxNames, now)
  const share = createSingleFlight<Named>()

  async function name(actor: RemoteActor): Promise<Named> {
    const known = confirmed.get(actor.id)
    if (known) return known
    const named = await share(actor.id, () => confirmName(actor, { lookup, isBlocked }).catch(withholdName))
    confirmed.set(actor.id, named, named.address ? nameKeptMs.confirmed : nameKeptMs.withheld)
    return named
  }

  return {
    /**
     * `@user@host` of an actor, when its host and the name's domain both confirm it; else undefined. A bad answer of a
     * peer is no error.
     * @throws Rejection `forbidden` when the name is of a blocked domain, which is not asked
     */
    async confirm(actor: RemoteActor): Promise<string | undefined> {
      const named = await name(actor)
      if (named.isBlocked) throw new Rejection('forbidden', 'Cannot accept activity: its host is blocked')
      return named.address
    },
    /**
     * The actor IRI behind an address. `isCounted`: strangers may have chosen it (they had an agent say it), so look-ups on its domain are bounded.
     * @throws Unavailable, Undeliverable, Rejection `rate_limited`
     */
    async resolve(text: string, { isCounted }: { readonly isCounted?: boolean | undefined } = {}): Promise<string> {
      const known = resolved.get(text)
      if (known) return known
      const address = parseIfAddress(text)
      if (address && isCounted) lookup.countElsewhere('', address.domain)
      const actor = address && (await askForActor(address, lookup))
      if (!actor) throw new Undeliverable('Cannot look up address: it names no actor')
      resolved.set(text, actor, nameKeptMs.confirmed)
      return actor
    },
    /** The actor IRI behind an address, if it was resolved lately. */
    recall: (text: string) => resolved.get(text),
  }
}

/** The actor behind an address, when its own host calls it by that address, too; else undefined. @throws like `Handles` and `RemoteActors` */
export function createPrincipalFinder({ handles, actors }: { handles: Handles; actors: RemoteActors }) {
  return async (address: string): Promise<string | undefined> => {
    const actor = await actors.find(parseIri(await handles.resolve(address), 'the account'))
    return actor && (await handles.confirm(actor)) === address ? actor.id : undefined
  }
}

export type PeerLimits = ReturnType<typeof createPeerLimits>

const lengthKeptMs = { told: 86_400_000, failed: 3_600_000 } as const
const maxHosts = 5_000

/** How long a post may be for the people of a host: a hint, by which long answers are cut. */
export function createPeerLimits({ fetch, now }: Pick<Platform, 'fetch' | 'now'>) {
  const known = createExpiringMap<number>(maxHosts, now)
  const share = createSingleFlight<void>()

  async function look(host: string): Promise<void> {
    const { length, isTold } = await askLength(host, { fetch, now })
    known.set(host, length, isTold ? lengthKeptMs.told : lengthKeptMs.failed)
  }

  return {
    /** Characters, as far as is known now; 500 for a host that was not asked, or did not answer. */
    recall: (host: string) => known.get(host) ?? commonLength,
    /** Asks the host unless it was asked lately; those who ask at the same time wait for one look-up. Never throws. */
    async learn(host: string): Promise<void> {
      if (known.get(host) === undefined) await share(host, () => look(host))
    },
  }
}
