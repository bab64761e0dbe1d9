// Authenticates requests to an inbox by their HTTP signature or by the proof in their document.
import type { HeaderFields, IncomingRequest } from '@postern/http'
import { checkDeclaredBody, parseBoundedJson, readBody } from '@postern/http'
import { maxUrlLength, Rejection } from '@postern/message'
import type { AgentDirectory, IntakeSteps, RefusalClaims, Store } from '@postern/pipeline'
import type { Activity } from './format/activity.ts'
import { checkContext } from './format/check-context.ts'
import { checkEntryCounts, checkPost } from './format/check-post.ts'
import type { Iri } from './format/iri.ts'
import { findIri, isOnOrigin, parseIri } from './format/iri.ts'
import { listCoreTypes, normalizeJsonLd } from './format/json-ld.ts'
import type { JsonObject } from './format/json-object.ts'
import { asObject, idOf, idsOf, listOf, onlyOf, textOf, typeOf } from './format/json-object.ts'
import { malformedActivity } from './format/malformed-activity.ts'
import { isActivityMediaType } from './format/media-types.ts'
import { parsePieceId, parsePostIri } from './format/own-iris.ts'
import type { SignerDeps } from './proofs/forwarded-activity.ts'
import { digestProof, verifyForwardedActivity } from './proofs/forwarded-activity.ts'
import { isKnownProof, maxProofs } from './proofs/object-integrity.ts'
import type { StoredFacts, VerifiedInboxRequest } from './proofs/proven-activity.ts'
import { verifySignedActivity } from './proofs/signed-activity.ts'
import { mayProveItself, verifyUnsignedActivity } from './proofs/unsigned-activity.ts'
import { isSigned, readRequestSignature } from './signature/read-request-signature.ts'
import { recordRequest } from './signature/recorded-request.ts'
import type { RequestSignature, SignedRequest } from './signature/request-signature.ts'
import { toSignedRequest } from './signature/request-signature.ts'

/** A request to an inbox, not read yet. `agent` is the name of the agent in the path. It is absent for the shared inbox. */
export interface InboxRequest {
  readonly request: IncomingRequest
  readonly agent?: string | undefined
  /** The facts about the request that were already read from the store. If they are absent, the store is queried. */
  readonly facts?: StoredFacts | undefined
}

interface VerifyDeps extends SignerDeps {
  readonly agents: Pick<AgentDirectory, 'find'>
  readonly store: Pick<Store, 'findResponse'>
}

const maxBodyBytes = 1024 * 1024
const maxDepth = 32

/**
 * Authenticates a request to an inbox. The cheap checks come first: no request is sent and nothing expensive runs before the header, the time and
 * the digest have passed. While the fetch limit is exhausted, an unknown key is refused before the body is read.
 * @throws Rejection
 * @throws Unavailable if the actor's host does not answer
 */
export async function verifyInboxRequest(
  inboxRequest: InboxRequest,
  deps: VerifyDeps,
  steps: IntakeSteps,
): Promise<VerifiedInboxRequest> {
  const { request } = inboxRequest
  steps.recordClaims({ agent: inboxRequest.agent })
  checkRecipient(inboxRequest, deps.agents)
  checkMediaType(request.headers)
  checkDeclaredBody(request.headers, maxBodyBytes)
  const signedRequest = toSignedRequest(request, deps.origin)
  const verifyDeps = { ...deps, steps }
  if (!isSigned(request.headers)) return verifyUnsignedRequest(request, signedRequest, verifyDeps)
  const signature = readTimelySignature(signedRequest, verifyDeps)
  const bytes = await readSignedBody(request, signature, steps)
  const documents = parseDocuments(bytes, steps)
  const ownPost = findForwardedOwnPost(documents.normalized, signature.keyId, deps)
  if (ownPost && (await isStoredPost(ownPost, deps))) return 'ignored'
  const forwardedKey = findForwardedKey(documents.normalized, signature.keyId)
  const activity = parseUnblockedActivity(documents, forwardedKey ?? signature.keyId, deps)
  const receivedActivity = { activity, bytes, arrival: recordRequest(signedRequest, signature) }
  return forwardedKey
    ? verifyForwardedActivity(receivedActivity, signature, verifyDeps)
    : verifySignedActivity(receivedActivity, signature, verifyDeps)
}

type VerifySteps = VerifyDeps & { readonly steps: IntakeSteps }

/**
 * Verifies a request without a signature by the activity's own proof (FEP-8b32). A document without such a proof is not parsed as JSON.
 * @throws Rejection `unsigned`, and like `verifyByOwnProof`
 */
async function verifyUnsignedRequest(
  request: IncomingRequest,
  signedRequest: SignedRequest,
  deps: VerifySteps,
): Promise<VerifiedInboxRequest> {
  const bytes = await readBody(request, maxBodyBytes)
  deps.steps.recordClaims(readUnverifiedClaims(bytes))
  if (!mayProveItself(bytes)) throw refuseUnsigned()
  const documents = parseDocuments(bytes, deps.steps)
  const keyId = findForwardedKey(documents.normalized, '')
  if (keyId === undefined) throw refuseUnsigned()
  const ownPost = findForwardedOwnPost(documents.normalized, keyId, deps)
  if (ownPost && (await isStoredPost(ownPost, deps))) return 'ignored'
  const activity = parseUnblockedActivity(documents, keyId, deps)
  const arrival = recordRequest(signedRequest, { coveredNames: [] })
  return verifyUnsignedActivity({ activity, bytes, arrival, headers: request.headers }, deps)
}

/**
 * Reads the signature of a request. Its time must be in the window. Its key must be known, or the fetch limit must still allow a fetch of the key.
 * @throws Rejection `unsigned`, `signature_invalid`, `expired`, `rate_limited`
 */
function readTimelySignature(request: SignedRequest, { steps, now, windowMs, actors }: VerifySteps): RequestSignature {
  const signature = readRequestSignature(request)
  // The key id is all that is known of the sender before the document is parsed.
  steps.recordClaims({ claimed_sender: signature.keyId })
  signature.checkTimes({ now: now(), windowMs })
  actors.checkKey(signature.keyId)
  return signature
}

/**
 * Reads the body, which must be the signed body. Any other body is not parsed as JSON, but the claims at its beginning are recorded for the operator.
 * @throws Rejection
 */
async function readSignedBody(
  request: IncomingRequest,
  signature: RequestSignature,
  steps: IntakeSteps,
): Promise<Uint8Array> {
  const bytes = await readBody(request, maxBodyBytes)
  const checkStartedAt = steps.now()
  try {
    signature.checkBody(bytes)
  } catch (error) {
    steps.recordClaims(readUnverifiedClaims(bytes))
    throw error
  }
  steps.recordCheck(digestProof, checkStartedAt)
  return bytes
}

/** A document as received, and with literal names only. */
interface ActivityDocuments {
  readonly receivedJson: unknown
  readonly normalized: unknown
}

/** Parses a document, and records its claims for the operator. @throws Rejection `malformed` */
function parseDocuments(bytes: Uint8Array, steps: IntakeSteps): ActivityDocuments {
  const receivedJson = parseBoundedJson(bytes, { maxDepth, label: 'activity' })
  const normalized = normalizeJsonLd(receivedJson)
  steps.recordClaims(readClaims(normalized))
  return { receivedJson, normalized }
}

/** Reads the activity of a signer whose host is not blocked. @throws Rejection `forbidden`, and like `parseActivity` */
function parseUnblockedActivity(
  { receivedJson, normalized }: ActivityDocuments,
  keyId: string,
  { isBlocked }: Pick<VerifyDeps, 'isBlocked'>,
): Activity {
  const activity = parseActivity(normalized, { receivedJson, keyId })
  if (isBlocked(activity.actor.host)) throw new Rejection('forbidden', 'Cannot accept activity: its host is blocked')
  return activity
}

function refuseUnsigned(): Rejection {
  return new Rejection('unsigned', 'Cannot verify activity: there is no Signature header')
}

/** Reads the sender and the id that an activity claims. */
function readClaims(document: unknown): RefusalClaims {
  const json = asObject(document)
  const sender = idOf(onlyOf(json?.actor))
  return { ...(sender !== undefined && { claimed_sender: sender }), peer_id: idOf(json?.id) }
}

type PostAddress = NonNullable<ReturnType<typeof parsePostIri>>

/** Finds the address of our own post that a peer forwards. The gateway has the post already, and the peer is not at fault. */
function findForwardedOwnPost(
  document: unknown,
  keyId: string,
  { agents, origin }: Pick<VerifyDeps, 'agents' | 'origin'>,
): PostAddress | undefined {
  const id = idOf(document)
  const postAddress = id === undefined || isOnOrigin(keyId, origin) ? undefined : parsePostIri(id, { origin })
  return postAddress && agents.find(postAddress.agent) ? postAddress : undefined
}

async function isStoredPost({ agent, id }: PostAddress, { store }: Pick<VerifyDeps, 'store'>): Promise<boolean> {
  const response = await store.findResponse(parsePieceId(id).responseId)
  return response?.agent === agent && response.via === 'activitypub'
}

function checkRecipient({ agent }: InboxRequest, agents: VerifyDeps['agents']): void {
  if (agent !== undefined && !agents.find(agent)) throw new Rejection('no_recipient', 'Cannot deliver: no such agent')
}

function checkMediaType(headers: HeaderFields): void {
  if (isActivityMediaType(headers.get('content-type'))) return
  throw new Rejection('unsupported', 'Cannot read activity: Content-Type is not application/activity+json')
}

/**
 * Finds the key by which a document claims to prove itself (FEP-8b32) if its actor is on another host than the request's signer, so that another
 * server forwards it. Returns undefined if the signer is on the actor's own host, or the document has no such proof. Nothing is proven yet.
 */
function findForwardedKey(document: unknown, keyId: string): string | undefined {
  const json: JsonObject = asObject(document) ?? {}
  const origin = findIri(idOf(onlyOf(json.actor)) ?? '')?.origin
  if (origin === undefined || isOnOrigin(keyId, origin)) return undefined
  const proofs = listOf(json.proof).slice(0, maxProofs).map(asObject)
  const methods = proofs.map(proof => proof && isKnownProof(proof) && idOf(proof.verificationMethod))
  return methods.find(method => typeof method === 'string' && isOnOrigin(method, origin)) || undefined
}

/** The most octets that `readUnverifiedClaims` reads. Servers write id and actor first. */
const maxPeekedBytes = 2_048

const claimPatterns: Readonly<Record<'peer_id' | 'claimed_sender', RegExp>> = {
  peer_id: /"id"\s{0,9}:\s{0,9}"(https:[^"\\\s]{1,300})"/,
  claimed_sender: /"actor"\s{0,9}:\s{0,9}"(https:[^"\\\s]{1,300})"/,
}

/** Finds the first `id` and `actor` in the first octets of a document that is not parsed. Neither is proven. */
export function readUnverifiedClaims(bytes: Uint8Array): RefusalClaims {
  const text = new TextDecoder('latin1').decode(bytes.subarray(0, maxPeekedBytes))
  const matches = Object.entries(claimPatterns).flatMap(([name, pattern]) => {
    const value = pattern.exec(text)?.[1]
    return value === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(matches)
}

/** The members that must belong to the actor too, by type of activity. */
const originChecks: ReadonlyMap<string, (json: JsonObject, actor: Iri) => void> = new Map([
  ['Create', checkPostAuthor],
  ['Update', checkPostAuthor],
])

/**
 * Reads the activity in a request to an inbox, by literal names only. `keyId` is that of the claimed signer, and `receivedJson` is the document
 * as received.
 * @throws Rejection `malformed`, `too_large`, `signer_mismatch`
 */
function parseActivity(
  document: unknown,
  { receivedJson, keyId }: { readonly receivedJson: unknown; readonly keyId: string },
): Activity {
  const json = asObject(document)
  if (!json) throw malformedActivity('it is not an object')
  checkContext(json)
  checkEntryCounts(json)
  const type = listCoreTypes(receivedJson).length > 1 ? undefined : typeOf(json)
  const id = textOf(json.id)
  if (!type || !id) throw malformedActivity(`it has no ${type ? 'id' : 'single type'}`)
  const actor = parseIri(readActorId(json.actor, keyId), 'its actor')
  requireOnOrigin(id, actor, 'its id')
  if (!isOnOrigin(keyId, actor.origin)) throw refuseMismatch("its signer's key is on another host than its actor")
  originChecks.get(type)?.(json, actor)
  return { id, type, actor, json, receivedJson: asObject(receivedJson) ?? json }
}

/** Reads the id of the only actor. An embedded actor must be the signer, because a reader might trust its other members. */
function readActorId(value: unknown, keyId: string): string {
  const actor = onlyOf(value)
  const embedded = asObject(actor)
  const id = embedded ? textOf(embedded.id) : textOf(actor)
  if (!id) throw malformedActivity('it does not have exactly one actor')
  if (embedded && !isKeyOf(keyId, id))
    throw malformedActivity('its actor is embedded under another id than the signer has')
  return id
}

function isKeyOf(keyId: string, actor: string): boolean {
  return keyId.startsWith(actor) && ['#', '/', '?', undefined].includes(keyId[actor.length])
}

/** Refuses an IRI that is not on the actor's origin. Only an IRI that does not begin with that origin is parsed, which is rare for honest peers. */
function requireOnOrigin(iri: string, { origin }: Iri, label: string): void {
  if (iri.length > maxUrlLength) throw malformedActivity(`${label} is too long`)
  if (isOnOrigin(iri, origin)) return
  parseIri(iri, label)
  throw refuseMismatch(`${label} is on another host than its actor`)
}

/** Checks that the author of a post creates or changes it, on the author's own host (FEP-fe34). */
function checkPostAuthor(json: JsonObject, actor: Iri): void {
  const object = json.object
  if (Array.isArray(object)) throw malformedActivity('it is about several objects at once')
  const createdObject = asObject(object)
  const id = textOf(createdObject ? createdObject.id : object)
  if (!id) throw malformedActivity('its object has no id')
  requireOnOrigin(id, actor, 'its object')
  if (!createdObject) return
  checkPost(createdObject)
  const authors = idsOf(createdObject.attributedTo)
  if (createdObject.attributedTo !== undefined && !authors.includes(actor.href)) {
    throw refuseMismatch('its object is attributed to somebody else')
  }
}

function refuseMismatch(problem: string): Rejection {
  return new Rejection('signer_mismatch', `Cannot verify activity: ${problem}`)
}
