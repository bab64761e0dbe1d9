import type { KeyObject } from 'node:crypto'
import { sign } from 'node:crypto'
import type { Delivery, FetchAnswer, FetchRequest, Json, Platform, RelationStore, Transmitted } from '@postern/core'
import { encodeBase58, hashCanonicalJson, Unavailable, Undeliverable } from '@postern/core'
import { parseRetryAfter, readReply } from '@postern/http'
import { createExpiringMap } from '@postern/limits'
import type { KeyIntroductions, Recipient } from './actors/key-introductions.ts'
import { introducingKey } from './actors/key-introductions.ts'
import type { JsonObject } from './format/document.ts'
import { activityJson, agentIris, asObject, findHost, readDeliveryTarget, textOf } from './format/document.ts'
import type { DeliveryTarget } from './format/post-data.ts'
import type { DocumentKey, KeyRing, RequestKey, SigningKey } from './keys/key-generations.ts'
import type { OutgoingRequest, RequestToSign, SendSigned } from './keys/message-signing.ts'
import { signInThreadpool, signMessage } from './keys/message-signing.ts'
import type { Handles, IsBlocked, PeerLimits, RemoteActors } from './peers/known-peers.ts'
import { isBlockedAddress } from './peers/known-peers.ts'
import type { Answered, OutgoingActivity } from './posts/answers.ts'
import { renderSaid } from './posts/answers.ts'
import type { Inbox } from './posts/mentioned-people.ts'
import { findMentioned, findMentionedInbox, toMentioned } from './posts/mentioned-people.ts'
import { proofSuite } from './proofs/object-integrity.ts'
import { formatDigest } from './signature/request-proof.ts'
import type { Mentioned } from './words/words.ts'
import { findCalled, ownNames } from './words/words.ts'

interface DeliverDeps {
  readonly platform: Pick<Platform, 'now' | 'log'>
  readonly store: Pick<RelationStore, 'findRelation'>
  readonly send: SendSigned
  readonly keys: Pick<KeyRing, 'find'>
  readonly proveOutgoing: ProveOutgoing
  readonly actors: Pick<RemoteActors, 'find'>
  readonly handles: Pick<Handles, 'resolve'>
  readonly isBlocked: IsBlocked
  readonly origin: string
  readonly findBytes: FindBytes
  readonly limits: Pick<PeerLimits, 'learn'>
  readonly introductions: KeyIntroductions
  /** Called when an inbox answers that it does not exist (any more). */
  onGone(agent: string, target: DeliveryTarget): void
}

/** For both requests of a double knock together. */
const postMs = 15_000
/** Peers answer 401 and 403 also while they cannot fetch our key: a few tries, then they mean it. */
const maxRefusals = 3
/** For a recipient whom only the words of an answer name: what looks like a name need not be one. */
const maxLookUps = 3
const refusalStatuses: ReadonlySet<number> = new Set([401, 403])
const goneStatuses: ReadonlySet<number> = new Set([404, 410])
const waitStatuses: ReadonlySet<number> = new Set([408, 425, 429])

/**
 * Signs and posts an activity to its inbox. Those the answer mentions are looked up first, so that all copies name them.
 * @throws Unavailable, Undeliverable
 */
export async function deliverActivity(
  outgoing: OutgoingActivity,
  delivery: Delivery,
  parts: DeliverDeps,
): Promise<Transmitted> {
  const place = await findInbox(delivery, parts)
  if (!place) return { note: 'the words name somebody who is not there' }
  const { inbox, peer } = place
  const host = findHost(inbox)
  if (!host || parts.isBlocked(host))
    throw new Undeliverable('Cannot deliver: the inbox is blocked or has no https address')
  // An inbox may be on another host than the actor whose it is.
  if (peer && isBlockedAddress(peer, parts.isBlocked))
    throw new Undeliverable('Cannot deliver: whom it is for is blocked')
  const bytes = await parts.findBytes(outgoing, delivery)
  const key = await chooseKey({ inbox, host, peer, agent: delivery.agent }, delivery, parts)
  const body = { bytes, type: activityJson }
  const answer = await parts.send({ method: 'POST', url: inbox, body, timeoutMs: postMs }, key)
  if (goneStatuses.has(answer.status)) parts.onGone(delivery.agent, readDeliveryTarget(delivery))
  checkAnswer(answer, delivery.attempt, parts.platform.now())
  // Next time we shall know how long a post may be there.
  if ((outgoing.said?.answered.rendering.pieces ?? 1) > 1) void parts.limits.learn(host)
  return { note: `answered ${answer.status}`, ...readReply(answer) }
}

/** The newest one, once the host knows it. While an old one is listed, it may have to introduce the new one. */
async function chooseKey(
  to: Recipient,
  delivery: Delivery,
  { keys, introductions, origin }: Pick<DeliverDeps, 'keys' | 'introductions' | 'origin'>,
): Promise<RequestKey> {
  const found = await keys.find(agentIris(origin, to.agent).actor)
  if (readDeliveryTarget(delivery).isIntroduction) {
    introductions.remember(to, found)
    return introducingKey(found)
  }
  if (found.listed.length > 1) await introductions.introduce(to, found)
  return found.request
}

/** The octets of an activity with all its names and the agent's own proof; made once for all the places it goes to, with each key. */
type FindBytes = (outgoing: OutgoingActivity, delivery: Delivery) => Promise<Uint8Array>

interface Made {
  readonly keyId: string
  readonly bytes: Promise<Uint8Array>
}

export function createFindBytes(
  parts: Pick<DeliverDeps, 'keys' | 'proveOutgoing' | 'handles' | 'actors' | 'origin'>,
): FindBytes {
  const known = new WeakMap<OutgoingActivity, Made>()

  async function makeBytes(
    { said, document }: OutgoingActivity,
    delivery: Delivery,
    key: DocumentKey,
  ): Promise<Uint8Array> {
    const mentions = said ? await lookUpMentions(said.answered, delivery, parts) : []
    const named = said && mentions.length > 0 ? renderSaid(said, mentions) : document
    return Buffer.from(JSON.stringify(parts.proveOutgoing(named as Json, key, delivery.queuedAt)))
  }

  return async function findBytes(outgoing, delivery) {
    const { document: key } = await parts.keys.find(agentIris(parts.origin, delivery.agent).actor)
    const earlier = known.get(outgoing)
    const made = earlier?.keyId === key.id ? earlier : { keyId: key.id, bytes: makeBytes(outgoing, delivery, key) }
    known.set(outgoing, made)
    try {
      return await made.bytes
    } catch (error) {
      known.delete(outgoing)
      throw error
    }
  }
}

/** @throws Unavailable later may help; Undeliverable it will not */
export function checkAnswer(
  answer: Pick<FetchAnswer, 'status' | 'headers' | 'body'>,
  attempt: number,
  now: number,
): void {
  const { status, headers } = answer
  if (status >= 200 && status < 300) return
  const replyLine = readReply(answer).reply_line
  const problem = `Cannot deliver: the inbox answered ${status}`
  const isRefused = refusalStatuses.has(status) && attempt < maxRefusals
  const isFault = status >= 500 && status !== 501
  if (!isRefused && !isFault && !waitStatuses.has(status)) throw new Undeliverable(problem, { status, replyLine })
  const retryAfter = parseRetryAfter(headers.get('retry-after'), now)
  throw new Unavailable(problem, { status, replyLine, retryAfter })
}

/** Undefined where only the words of the answer name the recipient, and nobody has that name. */
async function findInbox(delivery: Delivery, parts: DeliverDeps): Promise<Inbox | undefined> {
  const target = readDeliveryTarget(delivery)
  if ('inbox' in target) return target
  try {
    return await findMentionedInbox(delivery, target, parts)
  } catch (error) {
    const isOver = error instanceof Undeliverable || (error instanceof Unavailable && delivery.attempt >= maxLookUps)
    if (target.isNamed && isOver) return undefined
    throw error
  }
}

/** People who cannot be looked up now are left out of this copy; the delivery to them decides for itself. */
async function lookUpMentions(
  { response, rendering, agent, origin }: Answered,
  { message }: Delivery,
  parts: Pick<DeliverDeps, 'handles' | 'actors'>,
): Promise<readonly Mentioned[]> {
  const reached = { own: ownNames(agent, message.recipient, origin), author: rendering.reply?.address }
  const { chosen, named } = findCalled(response, rendering, reached)
  const others = [...chosen, ...named]
  const found = await Promise.allSettled(
    others.map(mention => findMentioned({ mention, isNamed: named.includes(mention) }, parts)),
  )
  return found.flatMap((result, at) =>
    result.status === 'fulfilled' ? [toMentioned(result.value, others[at] ?? '')] : [],
  )
}

/** Adds the agent's own proof to a document that leaves, or leaves it as it is. `queuedAt` in ms. Pure. */
type ProveOutgoing = (document: Json, key: DocumentKey, queuedAt: number) => Json

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

const schemeRefusals: ReadonlySet<number> = new Set([400, 401, 403])
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
    if (!schemeRefusals.has(first.status) || now() >= deadline) return first
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
  return schemeRefusals.has(second.status) && first.status !== 400 ? first : second
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
