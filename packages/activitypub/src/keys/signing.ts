import type { KeyObject } from 'node:crypto'
import { sign } from 'node:crypto'
import { promisify } from 'node:util'
import type { FetchAnswer, FetchRequest, Json, LookupStore, Platform, RotateOptions } from '@postern/core'
import { encodeBase58, hashCanonicalJson } from '@postern/core'
import { createExpiringMap } from '@postern/limits'
import type { JsonObject } from '../format/document.ts'
import { asObject, findHost, textOf } from '../format/document.ts'
import { formatDigest } from '../signature/request-proof.ts'
import { buildSignatureBase, formatContentDigest } from '../signature/rfc9421/message-signature.ts'
import { formatInnerList } from '../signature/rfc9421/structured-field.ts'
import type { DocumentKey, KeyPairs, SigningKey } from './key-generations.ts'
import { createKeyGenerations } from './key-generations.ts'

export interface ActorKeys extends KeyPairs {
  /** Newest first: those that sign, and those that signed until lately. */
  readonly listed: readonly KeyPairs[]
  /** When the first were made, and with them the actor; ISO 8601 UTC. */
  readonly actorMadeAt: string
}

export interface KeyRing {
  /** The keys of the actor with this IRI. Made once, durable before first use. */
  find(actor: string): Promise<ActorKeys>
  /**
   * Makes new keys, which sign from now on. The old ones stay listed while peers may still meet their signatures,
   * unless revoked.
   */
  rotate(actor: string, options?: RotateOptions): Promise<ActorKeys>
}

interface KeyRingDeps {
  readonly store: Pick<LookupStore, 'secret' | 'hasSecret'>
  readonly origin: string
  now(): number
}

/** How long keys stay listed after they were replaced: longer than peers keep what they have not yet verified. */
const overlapMs = 7 * 86_400_000
/** Some peers do not read more keys than these. */
const maxListed = 4
/** After this, another gateway's rotation is seen here too. */
const loadedMs = 60_000
const maxActors = 10_000

export function createKeyRing({ store, origin, now }: KeyRingDeps): KeyRing {
  const loaded = createExpiringMap<Promise<ActorKeys>>(maxActors, now)
  const generations = createKeyGenerations(store, now)

  function keep(actor: string, found: Promise<ActorKeys>): Promise<ActorKeys> {
    loaded.set(actor, found, loadedMs)
    found.catch(() => loaded.delete(actor))
    return found
  }

  async function load(actor: string): Promise<ActorKeys> {
    const path = actor.slice(origin.length)
    const times = await generations.listTimes(path)
    const newest = times.length
    const oldest = await generations.findOldest(path, newest)
    const isWanted = (at: number) => at + 1 >= oldest && isListed(times, at, now())
    const wanted = times.flatMap((_, at) => (isWanted(at) ? [at + 1] : [])).slice(-maxListed)
    const pairs = await Promise.all(wanted.map(generation => generations.read(actor, path, generation)))
    const listed = pairs.reverse()
    const [current = await generations.read(actor, path, newest)] = listed
    return { ...current, listed, actorMadeAt: times[0] ?? current.madeAt }
  }

  /** In turn: a look for the next generation must not meet its making. */
  async function renew(
    actor: string,
    before: Promise<unknown> | undefined,
    options: RotateOptions | undefined,
  ): Promise<ActorKeys> {
    await before?.catch(() => undefined)
    await generations.add(actor.slice(origin.length), options)
    return load(actor)
  }

  return {
    find: actor => loaded.get(actor) ?? keep(actor, load(actor)),
    rotate: (actor, options) => keep(actor, renew(actor, loaded.get(actor), options)),
  }
}

/** The newest generation is listed, and each other one for a while after the next was made. */
function isListed(times: readonly string[], at: number, now: number): boolean {
  const replacedAt = times[at + 1]
  return replacedAt === undefined || Date.parse(replacedAt) + overlapMs > now
}

/** Adds the agent's own proof to a document that leaves, or leaves it as it is. `queuedAt` in ms. Pure. */
export type ProveOutgoing = (document: Json, key: DocumentKey, queuedAt: number) => Json

/**
 * The proof's time is the document's own, so that a document sent again is the same to the byte.
 * `isWanted`: the switch `object_proofs`.
 */
export function createOutgoingProof(isWanted: boolean): ProveOutgoing {
  if (!isWanted) return document => document
  return (document, { id, privateKey }, queuedAt) => {
    const members = asObject(document)
    if (!members) return document
    const published = Date.parse(textOf(members.published) ?? '')
    const createdAt = Number.isNaN(published) ? queuedAt : published
    return proveIfPossible(members, { verificationMethod: id, privateKey, createdAt }) as Json
  }
}

/**
 * A document without a canonical form (half a character in a text) is sent without a proof: that is better than not at
 * all.
 */
function proveIfPossible(document: JsonObject, request: ProofRequest): JsonObject {
  try {
    return proveDocument(document, request)
  } catch (error) {
    if (error instanceof TypeError) return document
    throw error
  }
}

/** The one kind of proof of a document (FEP-8b32). */
export const proofSuite = {
  type: 'DataIntegrityProof',
  cryptosuite: 'eddsa-jcs-2022',
  proofPurpose: 'assertionMethod',
} as const

/** The context that gives `proof` its meaning to readers of JSON-LD. */
const dataIntegrityContext = 'https://w3id.org/security/data-integrity/v1'

interface ProofRequest {
  /** IRI of the key in the actor's `assertionMethod`. */
  readonly verificationMethod: string
  /** Ed25519. */
  readonly privateKey: KeyObject
  /** Milliseconds. */
  readonly createdAt: number
}

/** Adds a proof. Pure: Ed25519 gives the same signature for the same words, so a document proven again is the same. */
export function proveDocument(
  document: JsonObject,
  { verificationMethod, privateKey, createdAt }: ProofRequest,
): JsonObject {
  const context = [document['@context'] ?? []].flat()
  const unsecured = { ...document, '@context': [...context, dataIntegrityContext] }
  const created = `${new Date(createdAt).toISOString().slice(0, 19)}Z`
  const options = { '@context': unsecured['@context'], ...proofSuite, created, verificationMethod }
  const signed = Buffer.concat([hashCanonicalJson(options), hashCanonicalJson(unsecured)])
  const proofValue = `z${encodeBase58(sign(null, signed, privateKey))}`
  return { ...unsecured, proof: { ...options, proofValue } }
}

interface RequestToSign extends Pick<OutgoingRequest, 'method' | 'url' | 'body'> {
  readonly headers?: Readonly<Record<string, string>>
  /** For both tries together, from now. */
  readonly timeoutMs: number
  readonly maxBytes?: number
}

/**
 * Sends a signed request, and once more with the other scheme and the same bytes when the first was refused.
 * draft-cavage-12 goes first: some servers answer 202 to RFC 9421 and drop the message later, because they cannot read it.
 * @throws Unavailable, Undeliverable
 */
export type SendSigned = (call: RequestToSign, key: SigningKey) => Promise<FetchAnswer>

const refusalStatuses: ReadonlySet<number> = new Set([400, 401, 403])
const maxHosts = 2_000
const provenMs = 3_600_000

export function createDoubleKnock({ fetch, now }: Pick<Platform, 'fetch' | 'now'>): SendSigned {
  /** Hosts that refused the old scheme and took the new one: proof that they look at signatures at all. */
  const proven = createExpiringMap<true>(maxHosts, now)

  async function send(
    call: RequestToSign,
    key: SigningKey,
    sign: typeof signRequest,
    deadline: number,
  ): Promise<FetchAnswer> {
    const { method, url, body, headers, maxBytes } = call
    const signed = await sign({ method, url, body, now: now() }, key)
    const request: FetchRequest = {
      method,
      headers: { ...headers, ...signed },
      timeoutMs: Math.max(1, deadline - now()),
      ...(body && { body: body.bytes }),
      ...(maxBytes !== undefined && { maxBytes }),
    }
    return fetch(url, request)
  }

  return async function sendSigned(call, key) {
    const deadline = now() + call.timeoutMs
    const host = findHost(call.url) ?? ''
    const isProven = proven.get(host) === true
    const first = await send(call, key, isProven ? signMessage : signRequest, deadline)
    if (!refusalStatuses.has(first.status) || now() >= deadline) return first
    proven.delete(host)
    const second = await send(call, key, isProven ? signRequest : signMessage, deadline)
    if (!isProven && second.status >= 200 && second.status < 300) proven.set(host, true, provenMs)
    return preferAnswer(first, second)
  }
}

/**
 * A 400 only means that the server does not know the scheme. A 401 or 403 may also mean that it cannot get our key just
 * now.
 */
function preferAnswer(first: FetchAnswer, second: FetchAnswer): FetchAnswer {
  return refusalStatuses.has(second.status) && first.status !== 400 ? first : second
}

const signInThreadpool = promisify<string, Buffer, KeyObject, Buffer>(sign)

interface OutgoingRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  /** Milliseconds. */
  readonly now: number
  readonly body?: { readonly bytes: Uint8Array; readonly type: string } | undefined
}

/**
 * The headers that sign an outgoing request by draft-cavage-12 with rsa-sha256, which every server of this network
 * reads. `host` is signed, and the HTTP client sends it.
 */
export async function signRequest(
  { method, url, now, body }: OutgoingRequest,
  { id, privateKey }: SigningKey,
): Promise<Record<string, string>> {
  const { host, pathname, search } = new URL(url)
  const sent = {
    date: new Date(now).toUTCString(),
    ...(body && { digest: formatDigest(body.bytes), 'content-type': body.type }),
  }
  const signed = { '(request-target)': `${method.toLowerCase()} ${pathname}${search}`, host, ...sent }
  const lines = Object.entries(signed).map(([name, value]) => `${name}: ${value}`)
  const signature = await signInThreadpool('sha256', Buffer.from(lines.join('\n')), privateKey)
  const covered = Object.keys(signed).join(' ')
  return {
    ...sent,
    signature: `keyId="${id}",algorithm="rsa-sha256",headers="${covered}",signature="${signature.toString('base64')}"`,
  }
}

/**
 * The headers that sign an outgoing request by RFC 9421, in the one form that Mastodon accepts. It has one signature
 * with `created`; it covers method, target and content; the algorithm is rsa-v1_5-sha256.
 */
export async function signMessage(
  { method, url, now, body }: OutgoingRequest,
  { id, privateKey }: SigningKey,
): Promise<Record<string, string>> {
  const { origin, pathname, search } = new URL(url)
  const sent = body && { 'content-digest': formatContentDigest(body.bytes), 'content-type': body.type }
  const covered = ['@method', '@target-uri', ...(body ? ['content-digest'] : [])]
  const parameters = formatInnerList({
    items: covered.map(value => ({ value, parameters: new Map() })),
    parameters: new Map<string, string | number>([
      ['created', Math.floor(now / 1_000)],
      ['keyid', id],
      ['alg', 'rsa-v1_5-sha256'],
    ]),
  })
  const request = { method, target: pathname + search, origin, headers: new Headers(sent) }
  const base = Buffer.from(buildSignatureBase({ covered, parameters }, request))
  const signature = await signInThreadpool('sha256', base, privateKey)
  return {
    date: new Date(now).toUTCString(),
    ...sent,
    'signature-input': `sig1=${parameters}`,
    signature: `sig1=:${signature.toString('base64')}:`,
  }
}
