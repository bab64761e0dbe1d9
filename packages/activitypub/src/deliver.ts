// Posts a signed activity to an inbox, and decides by the response whether to retry the delivery.
import type { KeyObject } from 'node:crypto'
import { sign } from 'node:crypto'
import { parseRetryAfter, readReply } from '@postern/http'
import { createExpiringMap } from '@postern/limits'
import type { FetchAnswer, FetchRequest, Json, System } from '@postern/message'
import { encodeBase58, hashCanonicalJson, Unavailable, Undeliverable } from '@postern/message'
import type { Delivery, RelationStore, Transmitted } from '@postern/pipeline'
import type { KeyIntroductions, Recipient } from './actors/key-introductions.ts'
import { introducingKey } from './actors/key-introductions.ts'
import type { IsBlocked } from './domains/blocklist.ts'
import { isBlockedAddress } from './domains/blocklist.ts'
import { findHost } from './format/iri.ts'
import type { JsonObject } from './format/json-object.ts'
import { asObject, textOf } from './format/json-object.ts'
import { activityJson } from './format/media-types.ts'
import { agentIris } from './format/own-iris.ts'
import type { DeliveryTarget } from './format/post-data.ts'
import { readDeliveryTarget } from './format/targets.ts'
import type { DocumentKey, KeyRing, RequestKey, SigningKey } from './keys/key-generations.ts'
import type { OutgoingRequest, RequestToSign, SendSigned } from './keys/message-signing.ts'
import { signInThreadpool, signMessage } from './keys/message-signing.ts'
import type { RemoteActors } from './peers/actor-cache.ts'
import type { PeerLimits } from './peers/peer-limits.ts'
import type { Inbox } from './posts/mentioned-people.ts'
import { findMentioned, findMentionedInbox, toMentioned } from './posts/mentioned-people.ts'
import type { OutgoingActivity } from './posts/render-delivery.ts'
import { renderSaid } from './posts/render-delivery.ts'
import type { Answered } from './posts/render-post.ts'
import { proofSuite } from './proofs/object-integrity.ts'
import { formatDigest } from './signature/request-proof.ts'
import { findCalled, ownNames } from './text/called-people.ts'
import type { Mentioned } from './text/mention.ts'
import type { Handles } from './webfinger/handles.ts'

interface DeliverDeps {
  readonly system: Pick<System, 'now' | 'log'>
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
  /** Handles an inbox whose server answers that it does not exist (any more). */
  onGone(agent: string, target: DeliveryTarget): void
}

/** The timeout of both requests of a double knock together, ms. */
const postMs = 15_000
/** The number of attempts after which a 401 or 403 is final. Peers also send these statuses while they cannot fetch our key. */
const maxRefusals = 3
/** The most look-ups of a recipient whom only the text of an answer names, because a text that looks like a name need not be one. */
const maxLookUps = 3
const refusalStatuses: ReadonlySet<number> = new Set([401, 403])
const goneStatuses: ReadonlySet<number> = new Set([404, 410])
const waitStatuses: ReadonlySet<number> = new Set([408, 425, 429])
/** The statuses that a peer sends if it does not know the actor (any more), or cannot fetch its key. */
const unknownStatuses: ReadonlySet<number> = new Set([400, 401, 403, 404, 410])

/**
 * Signs an activity and posts it to its inbox. The people whom the answer mentions are looked up first, so that all copies name them.
 * @throws Unavailable, Undeliverable
 */
export async function deliverActivity(
  outgoing: OutgoingActivity,
  delivery: Delivery,
  deps: DeliverDeps,
): Promise<Transmitted> {
  const destination = await findInbox(delivery, deps)
  if (!destination) return { note: 'the words name somebody who is not there' }
  const { inbox, peer } = destination
  const host = findHost(inbox)
  if (!host || deps.isBlocked(host))
    throw new Undeliverable('Cannot deliver: the inbox is blocked or has no https address')
  // An inbox may be on another host than the actor that owns it.
  if (peer && isBlockedAddress(peer, deps.isBlocked))
    throw new Undeliverable('Cannot deliver: whom it is for is blocked')
  const bytes = await deps.findBytes(outgoing, delivery)
  const key = await chooseKey({ inbox, host, peer, agent: delivery.agent }, delivery, deps)
  const body = { bytes, type: activityJson }
  const answer = await deps.send({ method: 'POST', url: inbox, body, timeoutMs: postMs }, key)
  const target = readDeliveryTarget(delivery)
  if (target.isFarewell && unknownStatuses.has(answer.status))
    return { note: `answered ${answer.status}`, ...readReply(answer) }
  if (goneStatuses.has(answer.status)) deps.onGone(delivery.agent, target)
  checkAnswer(answer, delivery.attempt, deps.system.now())
  // The next response to this host can then be split by the real limit of its posts.
  if ((outgoing.said?.answered.rendering.pieces ?? 1) > 1) void deps.limits.learn(host)
  return { note: `answered ${answer.status}`, ...readReply(answer) }
}

/** Chooses the newest key after the host has been told of it. While an old key is listed, the old key may first have to introduce the new one. */
async function chooseKey(
  to: Recipient,
  delivery: Delivery,
  { keys, introductions, origin }: Pick<DeliverDeps, 'keys' | 'introductions' | 'origin'>,
): Promise<RequestKey> {
  const actorKeys = await keys.find(agentIris(origin, to.agent).actor)
  if (readDeliveryTarget(delivery).isIntroduction) {
    introductions.remember(to, actorKeys)
    return introducingKey(actorKeys)
  }
  if (actorKeys.listed.length > 1) await introductions.introduce(to, actorKeys)
  return actorKeys.request
}

/** Returns the octets of an activity with all its mentions and the agent's own proof. They are made once for all destinations and each key. */
type FindBytes = (outgoing: OutgoingActivity, delivery: Delivery) => Promise<Uint8Array>

interface Made {
  readonly keyId: string
  readonly bytes: Promise<Uint8Array>
}

export function createFindBytes(
  deps: Pick<DeliverDeps, 'keys' | 'proveOutgoing' | 'handles' | 'actors' | 'origin'>,
): FindBytes {
  const renderings = new WeakMap<OutgoingActivity, Made>()

  async function makeBytes(
    { said, document }: OutgoingActivity,
    delivery: Delivery,
    key: DocumentKey,
  ): Promise<Uint8Array> {
    const mentions = said ? await lookUpMentions(said.answered, delivery, deps) : []
    const documentWithMentions = said && mentions.length > 0 ? renderSaid(said, mentions) : document
    return Buffer.from(JSON.stringify(deps.proveOutgoing(documentWithMentions as Json, key, delivery.queuedAt)))
  }

  return async function findBytes(outgoing, delivery) {
    const { document: key } = await deps.keys.find(agentIris(deps.origin, delivery.agent).actor)
    const earlier = renderings.get(outgoing)
    const made = earlier?.keyId === key.id ? earlier : { keyId: key.id, bytes: makeBytes(outgoing, delivery, key) }
    renderings.set(outgoing, made)
    try {
      return await made.bytes
    } catch (error) {
      renderings.delete(outgoing)
      throw error
    }
  }
}

/** Checks the response of an inbox. @throws Unavailable if a retry may succeed, or Undeliverable if it cannot */
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

/** Finds the inbox of a delivery. Returns undefined if only the text of the answer names the recipient and no one has that name. */
async function findInbox(delivery: Delivery, deps: DeliverDeps): Promise<Inbox | undefined> {
  const target = readDeliveryTarget(delivery)
  if ('inbox' in target) return target
  try {
    return await findMentionedInbox(delivery, target, deps)
  } catch (error) {
    const isOver = error instanceof Undeliverable || (error instanceof Unavailable && delivery.attempt >= maxLookUps)
    if (target.isNamed && isOver) return undefined
    throw error
  }
}

/**
 * Looks up the people whom a response mentions. Those who cannot be looked up now are left out of this copy. The delivery to each of them is
 * decided separately.
 */
async function lookUpMentions(
  { response, rendering, agent, origin }: Answered,
  { message }: Delivery,
  deps: Pick<DeliverDeps, 'handles' | 'actors'>,
): Promise<readonly Mentioned[]> {
  const reached = { own: ownNames(agent, message.recipient, origin), author: rendering.reply?.address }
  const { chosen, named } = findCalled(response, rendering, reached)
  const recipients = [...chosen, ...named]
  const lookups = await Promise.allSettled(
    recipients.map(mention => findMentioned({ mention, isNamed: named.includes(mention) }, deps)),
  )
  return lookups.flatMap((result, at) =>
    result.status === 'fulfilled' ? [toMentioned(result.value, recipients[at] ?? '')] : [],
  )
}

/** Adds the agent's own proof to an outgoing document, or returns the document unchanged. `queuedAt` is in ms. It is pure. */
type ProveOutgoing = (document: Json, key: DocumentKey, queuedAt: number) => Json

/**
 * Creates the function that proves outgoing documents. The proof has the time of the document, so a retry sends the same bytes. `isWanted` is the
 * option `object_proofs`.
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
 * Adds a proof if the document has a canonical form. A document without one (it contains a lone surrogate) is sent without a proof, because that
 * is better than not sending it.
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
  /** The IRI of the key in the actor's `assertionMethod`. */
  readonly verificationMethod: string
  /** The Ed25519 key that makes the proof. */
  readonly privateKey: KeyObject
  /** The creation time of the proof, in ms since the epoch. */
  readonly createdAt: number
}

/** Adds a proof to a document. It is pure: Ed25519 signatures are deterministic, so the same document gets the same proof again. */
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

export function createDoubleKnock({ fetch, now }: Pick<System, 'fetch' | 'now'>): SendSigned {
  /** The hosts that rejected the old scheme and accepted the new one, which shows that they do verify signatures. */
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
      // The receiver recognizes a repeated activity by its id.
      isRepeatable: true,
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
 * Chooses between the responses to both schemes. A 400 only means that the server does not know the scheme, but a 401 or 403 may mean that it
 * cannot fetch our key now.
 */
function preferAnswer(first: FetchAnswer, second: FetchAnswer): FetchAnswer {
  return schemeRefusals.has(second.status) && first.status !== 400 ? first : second
}

/**
 * Returns the headers that sign an outgoing request by draft-cavage-12 with rsa-sha256, which every server of this
 * network reads. `host` is signed, and the HTTP client sends it.
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
