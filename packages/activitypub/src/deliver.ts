// Posts a signed activity to an inbox, and decides by the response whether to retry the delivery.
import type { KeyObject } from 'node:crypto'
import { sign } from 'node:crypto'
import { parseRetryAfter, readReply } from '@postern/http'
import { createExpiringMap } from '@postern/limits'
import type { FetchAnswer, FetchRequest, Json, System } from '@postern/message'
import { encodeBase58, hashCanonicalJson, Unavailable, Undeliverable } from '@postern/message'
import type { Delivery, RelationStore, TransmitResult } from '@postern/pipeline'
import type { KeyIntroductions, Recipient } from './actors/key-introductions.ts'
import { introducingKey } from './actors/key-introductions.ts'
import type { IsBlocked } from './domains/blocklist.ts'
import { isBlockedUrl } from './domains/blocklist.ts'
import { findHost } from './format/iri.ts'
import type { JsonObject } from './format/json-object.ts'
import { asObject, textOf } from './format/json-object.ts'
import { activityJson } from './format/media-types.ts'
import { agentIris } from './format/own-iris.ts'
import type { DeliveryTarget } from './format/post-data.ts'
import { readDeliveryTarget } from './format/targets.ts'
import type { DocumentKey, KeyRing, RequestKey, SigningKey } from './keys/key-generations.ts'
import type { OutgoingRequest, RequestToSign, SendSigned } from './keys/send-signed.ts'
import { signInThreadpool } from './keys/send-signed.ts'
import { signRfc9421Request } from './keys/sign-rfc9421.ts'
import type { ActorCache } from './peers/actor-cache.ts'
import type { PeerLimits } from './peers/peer-limits.ts'
import type { Inbox } from './posts/mentioned-people.ts'
import { findMentioned, findMentionedInbox, toMentionedPerson } from './posts/mentioned-people.ts'
import type { OutgoingActivity } from './posts/render-delivery.ts'
import { renderOutgoingPost } from './posts/render-delivery.ts'
import type { PublishedResponse } from './posts/render-post.ts'
import { proofSuite } from './proofs/object-integrity.ts'
import { formatDigest } from './signature/body-digest.ts'
import type { MentionedPerson } from './text/mention.ts'
import { listOwnAddresses, selectMentions } from './text/select-mentions.ts'
import type { Handles } from './webfinger/handles.ts'

interface DeliverDeps {
  readonly system: Pick<System, 'now' | 'log'>
  readonly store: Pick<RelationStore, 'findRelation'>
  readonly send: SendSigned
  readonly keys: Pick<KeyRing, 'find'>
  readonly proveOutgoing: ProveOutgoing
  readonly actors: Pick<ActorCache, 'find'>
  readonly handles: Pick<Handles, 'resolve'>
  readonly isBlocked: IsBlocked
  readonly origin: string
  readonly findBytes: FindBytes
  readonly limits: Pick<PeerLimits, 'refresh'>
  readonly introductions: KeyIntroductions
  /** Handles an inbox whose server answers that it does not exist (any more). */
  onGone(agent: string, target: DeliveryTarget): void
}

/** The timeout of both requests of a double knock together, ms. */
const postTimeoutMs = 15_000
/** The number of attempts after which a 401 or 403 is final. Peers also send these statuses while they cannot fetch our key. */
const maxRefusals = 3
/** The most look-ups of a recipient whom only the text of an answer names, because a text that looks like a name need not be one. */
const maxLookupAttempts = 3
const refusalStatuses: ReadonlySet<number> = new Set([401, 403])
const goneStatuses: ReadonlySet<number> = new Set([404, 410])
const retryableStatuses: ReadonlySet<number> = new Set([408, 425, 429])
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
): Promise<TransmitResult> {
  const destination = await findInbox(delivery, deps)
  if (!destination) return { note: 'the words name somebody who is not there' }
  const { inbox, peer } = destination
  const host = findHost(inbox)
  if (!host || deps.isBlocked(host))
    throw new Undeliverable('Cannot deliver: the inbox is blocked or has no https address')
  // An inbox may be on another host than the actor that owns it.
  if (peer && isBlockedUrl(peer, deps.isBlocked)) throw new Undeliverable('Cannot deliver: whom it is for is blocked')
  const bytes = await deps.findBytes(outgoing, delivery)
  const key = await chooseKey({ inbox, host, peer, agent: delivery.agent }, delivery, deps)
  const body = { bytes, type: activityJson }
  const response = await deps.send({ method: 'POST', url: inbox, body, timeoutMs: postTimeoutMs }, key)
  const target = readDeliveryTarget(delivery)
  if (target.isFarewell && unknownStatuses.has(response.status))
    return { note: `answered ${response.status}`, ...readReply(response) }
  if (goneStatuses.has(response.status)) deps.onGone(delivery.agent, target)
  checkInboxResponse(response, delivery.attempt, deps.system.now())
  // The next response to this host can then be split by the real limit of its posts.
  if ((outgoing.post?.answered.rendering.pieces ?? 1) > 1) void deps.limits.refresh(host)
  return { note: `answered ${response.status}`, ...readReply(response) }
}

/** Chooses the newest key after the host has been told of it. While an old key is listed, the old key may first have to introduce the new one. */
async function chooseKey(
  recipient: Recipient,
  delivery: Delivery,
  { keys, introductions, origin }: Pick<DeliverDeps, 'keys' | 'introductions' | 'origin'>,
): Promise<RequestKey> {
  const actorKeys = await keys.find(agentIris(origin, recipient.agent).actor)
  if (readDeliveryTarget(delivery).isIntroduction) {
    introductions.remember(recipient, actorKeys)
    return introducingKey(actorKeys)
  }
  if (actorKeys.listedKeys.length > 1) await introductions.introduce(recipient, actorKeys)
  return actorKeys.requestKey
}

/** Returns the octets of an activity with all its mentions and the agent's own proof. They are made once for all destinations and each key. */
type FindBytes = (outgoing: OutgoingActivity, delivery: Delivery) => Promise<Uint8Array>

interface EncodedActivity {
  readonly keyId: string
  readonly bytes: Promise<Uint8Array>
}

export function createFindBytes(
  deps: Pick<DeliverDeps, 'keys' | 'proveOutgoing' | 'handles' | 'actors' | 'origin'>,
): FindBytes {
  const renderings = new WeakMap<OutgoingActivity, EncodedActivity>()

  async function encodeActivity(
    { post, document }: OutgoingActivity,
    delivery: Delivery,
    key: DocumentKey,
  ): Promise<Uint8Array> {
    const mentions = post ? await lookUpMentions(post.answered, delivery, deps) : []
    const documentWithMentions = post && mentions.length > 0 ? renderOutgoingPost(post, mentions) : document
    return Buffer.from(JSON.stringify(deps.proveOutgoing(documentWithMentions as Json, key, delivery.queuedAt)))
  }

  return async function findBytes(outgoing, delivery) {
    const { documentKey: key } = await deps.keys.find(agentIris(deps.origin, delivery.agent).actor)
    const cached = renderings.get(outgoing)
    const encoded =
      cached?.keyId === key.id ? cached : { keyId: key.id, bytes: encodeActivity(outgoing, delivery, key) }
    renderings.set(outgoing, encoded)
    try {
      return await encoded.bytes
    } catch (error) {
      renderings.delete(outgoing)
      throw error
    }
  }
}

/** Checks the response of an inbox. @throws Unavailable if a retry may succeed, or Undeliverable if it cannot */
export function checkInboxResponse(
  response: Pick<FetchAnswer, 'status' | 'headers' | 'body'>,
  attempt: number,
  now: number,
): void {
  const { status, headers } = response
  if (status >= 200 && status < 300) return
  const replyLine = readReply(response).reply_line
  const problem = `Cannot deliver: the inbox answered ${status}`
  const isRefused = refusalStatuses.has(status) && attempt < maxRefusals
  const isFault = status >= 500 && status !== 501
  if (!isRefused && !isFault && !retryableStatuses.has(status)) throw new Undeliverable(problem, { status, replyLine })
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
    const isFinalAttempt =
      error instanceof Undeliverable || (error instanceof Unavailable && delivery.attempt >= maxLookupAttempts)
    if (target.isNamed && isFinalAttempt) return undefined
    throw error
  }
}

/**
 * Looks up the people whom a response mentions. Those who cannot be looked up now are left out of this copy. The delivery to each of them is
 * decided separately.
 */
async function lookUpMentions(
  { response, rendering, agent, origin }: PublishedResponse,
  { message }: Delivery,
  deps: Pick<DeliverDeps, 'handles' | 'actors'>,
): Promise<readonly MentionedPerson[]> {
  const reachedPeople = {
    ownAddresses: listOwnAddresses(agent, message.recipient, origin),
    author: rendering.reply?.address,
  }
  const { chosen, named } = selectMentions(response, rendering, reachedPeople)
  const recipients = [...chosen, ...named]
  const lookups = await Promise.allSettled(
    recipients.map(mention => findMentioned({ mention, isNamed: named.includes(mention) }, deps)),
  )
  return lookups.flatMap((result, index) =>
    result.status === 'fulfilled' ? [toMentionedPerson(result.value, recipients[index] ?? '')] : [],
  )
}

/** Adds the agent's own proof to an outgoing document, or returns the document unchanged. `queuedAt` is in ms. It is pure. */
type ProveOutgoing = (document: Json, key: DocumentKey, queuedAt: number) => Json

/**
 * Creates the function that proves outgoing documents. The proof has the time of the document, so a retry sends the same bytes. `isEnabled` is the
 * option `object_proofs`.
 */
export function createOutgoingProof(isEnabled: boolean): ProveOutgoing {
  if (!isEnabled) return document => document
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
  const unsecuredDocument = { ...document, '@context': [...context, dataIntegrityContext] }
  const created = `${new Date(createdAt).toISOString().slice(0, 19)}Z`
  const options = { '@context': unsecuredDocument['@context'], ...proofSuite, created, verificationMethod }
  const hashedData = Buffer.concat([hashCanonicalJson(options), hashCanonicalJson(unsecuredDocument)])
  const proofValue = `z${encodeBase58(sign(null, hashedData, privateKey))}`
  return { ...unsecuredDocument, proof: { ...options, proofValue } }
}

const schemeRefusals: ReadonlySet<number> = new Set([400, 401, 403])
const maxHosts = 2_000
const rfc9421HostTtlMs = 3_600_000

export function createSignatureFallback({ fetch, now }: Pick<System, 'fetch' | 'now'>): SendSigned {
  /** The hosts that rejected the old scheme and accepted the new one, which shows that they do verify signatures. */
  const rfc9421Hosts = createExpiringMap<true>(maxHosts, now)

  async function send(
    request: RequestToSign,
    key: SigningKey,
    sign: typeof signCavageRequest,
    deadlineAt: number,
  ): Promise<FetchAnswer> {
    const { method, url, body, headers, maxBytes } = request
    const signatureHeaders = await sign({ method, url, body, now: now() }, key)
    const fetchRequest: FetchRequest = {
      method,
      headers: { ...headers, ...signatureHeaders },
      timeoutMs: Math.max(1, deadlineAt - now()),
      // The receiver recognizes a repeated activity by its id.
      isRepeatable: true,
      ...(body && { body: body.bytes }),
      ...(maxBytes !== undefined && { maxBytes }),
    }
    return fetch(url, fetchRequest)
  }

  return async function sendSigned(request, key) {
    const deadlineAt = now() + request.timeoutMs
    const host = findHost(request.url) ?? ''
    const prefersRfc9421 = rfc9421Hosts.get(host) === true
    const firstResponse = await send(request, key, prefersRfc9421 ? signRfc9421Request : signCavageRequest, deadlineAt)
    if (!schemeRefusals.has(firstResponse.status) || now() >= deadlineAt) return firstResponse
    rfc9421Hosts.delete(host)
    const secondResponse = await send(request, key, prefersRfc9421 ? signCavageRequest : signRfc9421Request, deadlineAt)
    if (!prefersRfc9421 && secondResponse.status >= 200 && secondResponse.status < 300)
      rfc9421Hosts.set(host, true, rfc9421HostTtlMs)
    return chooseResponse(firstResponse, secondResponse)
  }
}

/**
 * Chooses between the responses to both schemes. A 400 only means that the server does not know the scheme, but a 401 or 403 may mean that it
 * cannot fetch our key now.
 */
function chooseResponse(firstResponse: FetchAnswer, secondResponse: FetchAnswer): FetchAnswer {
  return schemeRefusals.has(secondResponse.status) && firstResponse.status !== 400 ? firstResponse : secondResponse
}

/**
 * Returns the headers that sign an outgoing request by draft-cavage-12 with rsa-sha256, which every server of this
 * network reads. `host` is signed, and the HTTP client sends it.
 */
export async function signCavageRequest(
  { method, url, now, body }: OutgoingRequest,
  { id, privateKey }: SigningKey,
): Promise<Record<string, string>> {
  const { host, pathname, search } = new URL(url)
  const sentHeaders = {
    date: new Date(now).toUTCString(),
    ...(body && { digest: formatDigest(body.bytes), 'content-type': body.type }),
  }
  const signedComponents = { '(request-target)': `${method.toLowerCase()} ${pathname}${search}`, host, ...sentHeaders }
  const signingLines = Object.entries(signedComponents).map(([name, value]) => `${name}: ${value}`)
  const signature = await signInThreadpool('sha256', Buffer.from(signingLines.join('\n')), privateKey)
  const coveredNames = Object.keys(signedComponents).join(' ')
  return {
    ...sentHeaders,
    signature: `keyId="${id}",algorithm="rsa-sha256",headers="${coveredNames}",signature="${signature.toString('base64')}"`,
  }
}
