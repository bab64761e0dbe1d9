// Authenticates requests to an inbox by their HTTP signature or by the proof in their document.
import { checkDeclaredBody, parseBoundedJson, readBody } from '@postern/http'
import type { Proof } from '@postern/message'
import { maxUrlLength, Rejection } from '@postern/message'
import type { AgentDirectory, CheckedProof, IntakeSteps, RefusalClaims, Store } from '@postern/pipeline'
import type { Activity } from './format/activity.ts'
import { checkContext } from './format/check-context.ts'
import { checkCaps, checkPost } from './format/check-post.ts'
import type { Iri } from './format/iri.ts'
import { findIri, isOnOrigin, parseIri } from './format/iri.ts'
import { listCoreTypes, normalizeJsonLd } from './format/json-ld.ts'
import type { JsonObject } from './format/json-object.ts'
import { asObject, idOf, idsOf, listOf, onlyOf, textOf, typeOf } from './format/json-object.ts'
import { malformed } from './format/malformed.ts'
import { isActivityMediaType } from './format/media-types.ts'
import { parsePieceId, parsePostIri } from './format/own-iris.ts'
import { findProofKey } from './peers/proof-key.ts'
import { findSigner, proveSigner } from './peers/signer.ts'
import type { VerifyFetchDeps } from './proofs/forwarded-activity.ts'
import { acceptDeletion, digestProof, verifyForwarded } from './proofs/forwarded-activity.ts'
import { isKnownProof, maxProofs, verifyObjectProof } from './proofs/object-integrity.ts'
import type { Facts, ProvenActivity, provenBrand, VerifiedDelivery } from './proofs/proven-activity.ts'
import { mayProveItself, verifyUnsigned } from './proofs/unsigned-activity.ts'
import type { RequestProof, SignedRequest } from './signature/request-proof.ts'
import { readCavageProof, recordRequest, toSignedRequest } from './signature/request-proof.ts'
import { readMessageProof } from './signature/rfc9421/message-signature.ts'

/** A request to an inbox, not read yet. `agent` is the one that the path names. It is absent for the shared inbox. */
export interface InboxRequest {
  readonly request: Request
  readonly agent?: string | undefined
  /** The facts that our own store had when the request came. If they are absent, the store is queried. */
  readonly facts?: Facts | undefined
}

interface VerifyDeps extends VerifyFetchDeps {
  readonly agents: Pick<AgentDirectory, 'find'>
  readonly store: Pick<Store, 'findResponse'>
}

const maxBodyBytes = 1024 * 1024
const maxDepth = 32

/**
 * Authenticates a request to an inbox. The cheap checks come first: no request is sent and nothing expensive runs before the header, the time and
 * the digest have passed. While no fetch is free, an unknown key is refused before the body is read.
 * @throws Rejection
 * @throws Unavailable if the actor's host does not answer
 */
export async function verifyDelivery(
  raw: InboxRequest,
  deps: VerifyDeps,
  steps: IntakeSteps,
): Promise<VerifiedDelivery> {
  const { request } = raw
  const { headers } = request
  steps.claim({ agent: raw.agent })
  checkAddressee(raw, deps.agents)
  checkMediaType(headers)
  checkDeclaredBody(headers, maxBodyBytes)
  const signedRequest = toSignedRequest(request, deps.origin)
  if (!isSigned(headers)) return verifySelfProven(request, signedRequest, { ...deps, steps })
  const proof = readRequestProof(signedRequest)
  // The key names the claimed sender until the document is read.
  steps.claim({ claimed_sender: proof.keyId })
  proof.checkTimes({ now: deps.now(), windowMs: deps.windowMs })
  deps.actors.checkKey(proof.keyId)
  const bytes = await readBody(request, maxBodyBytes)
  const bodyCheckStartedAt = steps.now()
  checkBody(proof, bytes, steps)
  steps.note(digestProof, bodyCheckStartedAt)
  const document = parseBoundedJson(bytes, { maxDepth, what: 'activity' })
  const normalizedDocument = normalizeJsonLd(document)
  steps.claim(readClaims(normalizedDocument))
  if (await isOwnForwardedPost(normalizedDocument, proof.keyId, deps)) return 'nothing'
  const forwardedKey = findForwardedKey(normalizedDocument, proof.keyId)
  const activity = parseActivity(normalizedDocument, { sent: document, keyId: forwardedKey ?? proof.keyId })
  if (deps.isBlocked(activity.actor.host)) throw blocked()
  const arrival = recordRequest(signedRequest, proof)
  if (forwardedKey) return verifyForwarded({ activity, bytes, arrival }, proof, { ...deps, steps })
  const signerCheckStartedAt = steps.now()
  const wasKnown = deps.actors.knows(activity.actor)
  const actor = await findSigner(activity.actor, deps.actors)
  if (!actor) return acceptDeletion(activity, deps.actors)
  const signer = await proveSigner({ iri: activity.actor, actor, proof, wasKnown }, deps.actors)
  const from = wasKnown && signer === actor ? 'cache' : 'fetched'
  steps.note(signatureOf(proof), signerCheckStartedAt, { from, key: findProofKey(signer, proof.keyId) })
  const proofCheckStartedAt = steps.now()
  const hasProof = activity.json.proof !== undefined
  const objectProof = hasProof ? await verifyObjectProof({ activity, bytes, actor: signer }, deps) : undefined
  if (objectProof) steps.note(objectProof, proofCheckStartedAt, { from, key: findProofKey(signer, objectProof.key_id) })
  return prove({ activity, actor: signer, bytes, arrival, receivedAt: deps.now() }, proof, objectProof)
}

/**
 * Verifies a request without a signature by the activity's own proof (FEP-8b32). A document without such a proof is not parsed as JSON.
 * @throws Rejection `unsigned`, and like `verifyUnsigned`
 */
async function verifySelfProven(
  request: Request,
  signedRequest: SignedRequest,
  deps: VerifyDeps & { readonly steps: IntakeSteps },
): Promise<VerifiedDelivery> {
  const bytes = await readBody(request, maxBodyBytes)
  deps.steps.claim(peekClaims(bytes))
  if (!mayProveItself(bytes)) throw unsigned()
  const document = parseBoundedJson(bytes, { maxDepth, what: 'activity' })
  const normalizedDocument = normalizeJsonLd(document)
  deps.steps.claim(readClaims(normalizedDocument))
  const keyId = findForwardedKey(normalizedDocument, '')
  if (keyId === undefined) throw unsigned()
  if (await isOwnForwardedPost(normalizedDocument, keyId, deps)) return 'nothing'
  const activity = parseActivity(normalizedDocument, { sent: document, keyId })
  if (deps.isBlocked(activity.actor.host)) throw blocked()
  const arrival = recordRequest(signedRequest, { covered: [] })
  return verifyUnsigned({ activity, bytes, arrival, headers: request.headers }, deps)
}

function unsigned(): Rejection {
  return new Rejection('unsigned', 'Cannot verify activity: there is no Signature header')
}

function blocked(): Rejection {
  return new Rejection('forbidden', 'Cannot accept activity: its host is blocked')
}

/**
 * Checks that the body is the signed one. Any other body is not parsed as JSON, but its beginning tells the operator what it claims to be.
 * @throws Rejection
 */
function checkBody(proof: RequestProof, bytes: Uint8Array, steps: IntakeSteps): void {
  try {
    proof.checkBody(bytes)
  } catch (error) {
    steps.claim(peekClaims(bytes))
    throw error
  }
}

/** Reads the sender and the id that an activity claims. */
function readClaims(document: unknown): RefusalClaims {
  const json = asObject(document)
  const sender = idOf(onlyOf(json?.actor))
  return { ...(sender !== undefined && { claimed_sender: sender }), peer_id: idOf(json?.id) }
}

/** Returns true if a peer forwards one of our own posts. The post is known, and the carrier is not at fault. */
async function isOwnForwardedPost(
  document: unknown,
  keyId: string,
  { agents, store, origin }: Pick<VerifyDeps, 'agents' | 'store' | 'origin'>,
): Promise<boolean> {
  const id = idOf(document)
  const address = id === undefined || isOnOrigin(keyId, origin) ? undefined : parsePostIri(id, { origin })
  if (!address || !agents.find(address.agent)) return false
  const response = await store.findResponse(parsePieceId(address.id).responseId)
  return response?.agent === address.agent && response.via === 'activitypub'
}

function signatureOf({ keyId }: RequestProof): CheckedProof {
  return { kind: 'http-signature', verdict: 'pass', key_id: keyId }
}

function checkAddressee({ agent }: InboxRequest, agents: VerifyDeps['agents']): void {
  if (agent !== undefined && !agents.find(agent)) throw new Rejection('no_recipient', 'Cannot deliver: no such agent')
}

function checkMediaType(headers: Headers): void {
  if (isActivityMediaType(headers.get('content-type'))) return
  throw new Rejection('unsupported', 'Cannot read activity: Content-Type is not application/activity+json')
}

type ActivityFacts = Omit<ProvenActivity, typeof provenBrand | 'keyId' | 'objectKeyId' | 'proofs'>

function prove(
  facts: ActivityFacts,
  { scheme, keyId, algorithm, covered }: RequestProof,
  objectProof: Proof | undefined,
): ProvenActivity {
  const proofs: Proof[] = [
    { kind: 'http-signature', verdict: 'pass', key_id: keyId, scheme, algorithm, covered: covered.join(' ') },
    digestProof,
  ]
  if (objectProof) proofs.push(objectProof)
  const objectKeyId = objectProof?.verdict === 'pass' ? objectProof.key_id : undefined
  return { ...facts, keyId, objectKeyId, proofs } as unknown as ProvenActivity
}

/**
 * Reads the signature of a request. If it has a `Signature-Input`, only RFC 9421 counts, and a signature of the old scheme is ignored.
 * @throws Rejection `unsigned`, `signature_invalid`
 */
export function readRequestProof(request: SignedRequest): RequestProof {
  return request.headers.has('signature-input') ? readMessageProof(request) : readCavageProof(request)
}

/** Returns true if a request has a signature, valid or not. */
export function isSigned(headers: Headers): boolean {
  return headers.has('signature') || headers.has('signature-input')
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

/** The most octets that `peekClaims` reads. Servers write id and actor first. */
const maxPeekedBytes = 2_048

const claimPatterns: Readonly<Record<'peer_id' | 'claimed_sender', RegExp>> = {
  peer_id: /"id"\s{0,9}:\s{0,9}"(https:[^"\\\s]{1,300})"/,
  claimed_sender: /"actor"\s{0,9}:\s{0,9}"(https:[^"\\\s]{1,300})"/,
}

/** Finds the first `id` and `actor` in the first octets of a document that is not parsed. Neither is proven. */
export function peekClaims(bytes: Uint8Array): RefusalClaims {
  const text = new TextDecoder('latin1').decode(bytes.subarray(0, maxPeekedBytes))
  const matches = Object.entries(claimPatterns).flatMap(([name, pattern]) => {
    const value = pattern.exec(text)?.[1]
    return value === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(matches)
}

/** The members that must belong to the actor too, by type of activity. */
const originRules: ReadonlyMap<string, (json: JsonObject, actor: Iri) => void> = new Map([
  ['Create', checkCreated],
  ['Update', checkCreated],
])

/**
 * Reads the activity in a request to an inbox, by literal names only. `keyId` is that of the claimed signer, and `sent` is the document as
 * received.
 * @throws Rejection `malformed`, `too_large`, `signer_mismatch`
 */
function parseActivity(
  document: unknown,
  { sent, keyId }: { readonly sent: unknown; readonly keyId: string },
): Activity {
  const json = asObject(document)
  if (!json) throw malformed('it is not an object')
  checkContext(json)
  checkCaps(json)
  const type = listCoreTypes(sent).length > 1 ? undefined : typeOf(json)
  const id = textOf(json.id)
  if (!type || !id) throw malformed(`it has no ${type ? 'id' : 'single type'}`)
  const actor = parseIri(readActorId(json.actor, keyId), 'its actor')
  requireOnOrigin(id, actor, 'its id')
  if (!isOnOrigin(keyId, actor.origin)) throw mismatch("its signer's key is on another host than its actor")
  originRules.get(type)?.(json, actor)
  return { id, type, actor, json, sent: asObject(sent) ?? json }
}

/** Reads the one actor. An embedded actor must be that of the signer, because a reader might trust its other members. */
function readActorId(value: unknown, keyId: string): string {
  const actor = onlyOf(value)
  const embedded = asObject(actor)
  const id = embedded ? textOf(embedded.id) : textOf(actor)
  if (!id) throw malformed('it does not have exactly one actor')
  if (embedded && !isKeyOf(keyId, id)) throw malformed('its actor is embedded under another id than the signer has')
  return id
}

function isKeyOf(keyId: string, actor: string): boolean {
  return keyId.startsWith(actor) && ['#', '/', '?', undefined].includes(keyId[actor.length])
}

/** Refuses an IRI that is not on the actor's origin. Only an IRI that does not begin with that origin is parsed, which is rare for honest peers. */
function requireOnOrigin(iri: string, { origin }: Iri, label: string): void {
  if (iri.length > maxUrlLength) throw malformed(`${label} is too long`)
  if (isOnOrigin(iri, origin)) return
  parseIri(iri, label)
  throw mismatch(`${label} is on another host than its actor`)
}

/** Checks that the author of a post creates or changes it, on the author's own host (FEP-fe34). */
function checkCreated(json: JsonObject, actor: Iri): void {
  const object = json.object
  if (Array.isArray(object)) throw malformed('it is about several objects at once')
  const createdObject = asObject(object)
  const id = textOf(createdObject ? createdObject.id : object)
  if (!id) throw malformed('its object has no id')
  requireOnOrigin(id, actor, 'its object')
  if (!createdObject) return
  checkPost(createdObject)
  const authors = idsOf(createdObject.attributedTo)
  if (createdObject.attributedTo !== undefined && !authors.includes(actor.href)) {
    throw mismatch('its object is attributed to somebody else')
  }
}

function mismatch(problem: string): Rejection {
  return new Rejection('signer_mismatch', `Cannot verify activity: ${problem}`)
}
