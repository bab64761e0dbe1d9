import type { AgentDirectory, CheckedProof, IntakeSteps, Proof, RefusalClaims, Store } from '@postern/core'
import { maxUrlLength, Rejection } from '@postern/core'
import { checkDeclaredBody, parseBoundedJson, readBody } from '@postern/http'
import type { Activity, Iri, JsonObject } from './format/document.ts'
import {
  asObject,
  checkCaps,
  checkContext,
  checkPost,
  findIri,
  idOf,
  idsOf,
  isActivityMediaType,
  isOnOrigin,
  listOf,
  malformed,
  onlyOf,
  parseIri,
  parsePieceId,
  parsePostIri,
  textOf,
  typeOf,
} from './format/document.ts'
import { findSigner, keyOf, proveSigner } from './peers/known-peers.ts'
import type { VerifyFetchDeps } from './proofs/carried-activity.ts'
import { digestProof, endOfGone, verifyCarried } from './proofs/carried-activity.ts'
import { isKnownProof, maxProofs, verifyObjectProof } from './proofs/object-integrity.ts'
import type { Facts, ProvenActivity, provenBrand, VerifiedDelivery } from './proofs/proven-activity.ts'
import type { RequestProof, SignedRequest } from './signature/request-proof.ts'
import { readCavageProof, recordRequest, toSignedRequest } from './signature/request-proof.ts'
import { readMessageProof } from './signature/rfc9421/message-signature.ts'

/** A request to an inbox, unread. `agent` is the one named by the path; absent for the shared inbox. */
export interface InboxRequest {
  readonly request: Request
  readonly agent?: string | undefined
  /** What our own store knew when it came; absent: the store is asked. */
  readonly facts?: Facts | undefined
}

interface VerifyDeps extends VerifyFetchDeps {
  readonly agents: Pick<AgentDirectory, 'find'>
  readonly store: Pick<Store, 'findResponse'>
}

const maxBodyBytes = 1024 * 1024
const maxDepth = 32

/**
 * Proves who posts to an inbox, the cheap checks first: no request goes out and nothing heavy runs before the header,
 * the time and the digest have passed.
 * @throws Rejection
 * @throws Unavailable when the actor's host does not answer
 */
export async function verifyDelivery(
  raw: InboxRequest,
  parts: VerifyDeps,
  steps: IntakeSteps,
): Promise<VerifiedDelivery> {
  const { request } = raw
  const { headers } = request
  steps.claim({ agent: raw.agent })
  checkAddressee(raw, parts.agents)
  checkMediaType(headers)
  checkDeclaredBody(headers, maxBodyBytes)
  const signed = toSignedRequest(request, parts.origin)
  const proof = readRequestProof(signed)
  // Until its document is read, the key tells whom it claims to be from.
  steps.claim({ claimed_sender: proof.keyId })
  proof.checkTimes({ now: parts.now(), windowMs: parts.windowMs })
  const bytes = await readBody(request, maxBodyBytes)
  const bodyAt = steps.now()
  checkBody(proof, bytes, steps)
  steps.note(digestProof, bodyAt)
  const document = parseBoundedJson(bytes, { maxDepth, what: 'activity' })
  steps.claim(readClaims(document))
  if (await isOwnReturned(document, proof.keyId, parts)) return 'nothing'
  const carriedKey = findCarriedKey(document, proof.keyId)
  const activity = parseActivity(document, carriedKey ?? proof.keyId)
  if (parts.isBlocked(activity.actor.host))
    throw new Rejection('forbidden', 'Cannot accept activity: its host is blocked')
  const arrival = recordRequest(signed, proof)
  if (carriedKey) return verifyCarried({ activity, bytes, arrival }, proof, { ...parts, steps })
  const signerAt = steps.now()
  const wasKnown = parts.actors.knows(activity.actor)
  const actor = await findSigner(activity.actor, parts.actors)
  if (!actor) return endOfGone(activity, parts.actors)
  const signer = await proveSigner({ iri: activity.actor, actor, proof, wasKnown }, parts.actors)
  const from = wasKnown && signer === actor ? 'cache' : 'fetched'
  steps.note(signatureOf(proof), signerAt, { from, key: keyOf(signer, proof.keyId) })
  const objectAt = steps.now()
  const hasProof = activity.json.proof !== undefined
  const objectProof = hasProof ? await verifyObjectProof({ activity, bytes, actor: signer }, parts) : undefined
  if (objectProof) steps.note(objectProof, objectAt, { from, key: keyOf(signer, objectProof.key_id) })
  return prove({ activity, actor: signer, bytes, arrival, receivedAt: parts.now() }, proof, objectProof)
}

/** A body that is not the signed one is not read as JSON; its first words tell the operator what it claims to be. @throws Rejection */
function checkBody(proof: RequestProof, bytes: Uint8Array, steps: IntakeSteps): void {
  try {
    proof.checkBody(bytes)
  } catch (error) {
    steps.claim(peekClaims(bytes))
    throw error
  }
}

/** What an activity says of itself. */
function readClaims(document: unknown): RefusalClaims {
  const json = asObject(document)
  const sender = idOf(onlyOf(json?.actor))
  return { ...(sender !== undefined && { claimed_sender: sender }), peer_id: idOf(json?.id) }
}

/** An own post that a peer forwards comes back here, too: it is known, and the carrier is not to blame. */
async function isOwnReturned(
  document: unknown,
  keyId: string,
  { agents, store, origin }: Pick<VerifyDeps, 'agents' | 'store' | 'origin'>,
): Promise<boolean> {
  const id = idOf(document)
  const named = id === undefined || isOnOrigin(keyId, origin) ? undefined : parsePostIri(id, { origin })
  if (!named || !agents.find(named.agent)) return false
  const found = await store.findResponse(parsePieceId(named.id).responseId)
  return found?.agent === named.agent && found.via === 'activitypub'
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

type Established = Omit<ProvenActivity, typeof provenBrand | 'keyId' | 'objectKeyId' | 'proofs'>

function prove(
  established: Established,
  { scheme, keyId, algorithm, covered }: RequestProof,
  objectProof: Proof | undefined,
): ProvenActivity {
  const proofs: Proof[] = [
    { kind: 'http-signature', verdict: 'pass', key_id: keyId, scheme, algorithm, covered: covered.join(' ') },
    digestProof,
  ]
  if (objectProof) proofs.push(objectProof)
  const objectKeyId = objectProof?.verdict === 'pass' ? objectProof.key_id : undefined
  return { ...established, keyId, objectKeyId, proofs } as unknown as ProvenActivity
}

/**
 * Reads the signature of a request. With a `Signature-Input` only RFC 9421 counts, and a signature of the old kind
 * beside it is ignored.
 * @throws Rejection `unsigned`, `signature_invalid`
 */
export function readRequestProof(request: SignedRequest): RequestProof {
  return request.headers.has('signature-input') ? readMessageProof(request) : readCavageProof(request)
}

/** Whether there is a signature, valid or not. */
export function isSigned(headers: Headers): boolean {
  return headers.has('signature') || headers.has('signature-input')
}

/**
 * The key by which a document of an actor on another host than the request's signer claims to prove itself (FEP-8b32): another server
 * passes it on. Undefined when the signer is on the actor's own host, or the document has no such proof. Nothing is proven yet.
 */
function findCarriedKey(document: unknown, keyId: string): string | undefined {
  const json: JsonObject = asObject(document) ?? {}
  const origin = findIri(idOf(onlyOf(json.actor)) ?? '')?.origin
  if (origin === undefined || isOnOrigin(keyId, origin)) return undefined
  const proofs = listOf(json.proof).slice(0, maxProofs).map(asObject)
  const methods = proofs.map(proof => proof && isKnownProof(proof) && idOf(proof.verificationMethod))
  return methods.find(method => typeof method === 'string' && isOnOrigin(method, origin)) || undefined
}

/** How far it looks, octets: servers write id and actor first. */
const peeked = 2_048

const members: Readonly<Record<'peer_id' | 'claimed_sender', RegExp>> = {
  peer_id: /"id"\s{0,9}:\s{0,9}"(https:[^"\\\s]{1,300})"/,
  claimed_sender: /"actor"\s{0,9}:\s{0,9}"(https:[^"\\\s]{1,300})"/,
}

/** What a document claims that is not worth reading: the first `id` and `actor` of its first octets. Nothing of it is proven. */
export function peekClaims(bytes: Uint8Array): RefusalClaims {
  const text = new TextDecoder('latin1').decode(bytes.subarray(0, peeked))
  const found = Object.entries(members).flatMap(([name, pattern]) => {
    const value = pattern.exec(text)?.[1]
    return value === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(found)
}

/** The members that must belong to the actor too, by type of activity. */
const originRules: ReadonlyMap<string, (json: JsonObject, actor: Iri) => void> = new Map([
  ['Create', checkCreated],
  ['Update', checkCreated],
])

/**
 * Reads what an inbox was sent, by literal names only. `keyId` is the claimed signer's.
 * @throws Rejection `malformed`, `too_large`, `signer_mismatch`
 */
function parseActivity(document: unknown, keyId: string): Activity {
  const json = asObject(document)
  if (!json) throw malformed('it is not an object')
  checkContext(json)
  checkCaps(json)
  const type = typeOf(json)
  const id = textOf(json.id)
  if (!type || !id) throw malformed(`it has no ${type ? 'id' : 'single type'}`)
  const actor = parseIri(readActorId(json.actor, keyId), 'its actor')
  requireOwn(id, actor, 'its id')
  if (!isOnOrigin(keyId, actor.origin)) throw mismatch("its signer's key is on another host than its actor")
  originRules.get(type)?.(json, actor)
  return { id, type, actor, json }
}

/** One actor. An embedded one must be the signer's: whoever reads it might believe the rest of it. */
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

/** Parses only what does not begin like the actor's origin: nearly everything honest does. */
function requireOwn(iri: string, { origin }: Iri, what: string): void {
  if (iri.length > maxUrlLength) throw malformed(`${what} is too long`)
  if (isOnOrigin(iri, origin)) return
  parseIri(iri, what)
  throw mismatch(`${what} is on another host than its actor`)
}

/** A post is created and changed by whom it is attributed to, on its own host (FEP-fe34). */
function checkCreated(json: JsonObject, actor: Iri): void {
  const object = json.object
  if (Array.isArray(object)) throw malformed('it is about several objects at once')
  const created = asObject(object)
  const id = textOf(created ? created.id : object)
  if (!id) throw malformed('its object has no id')
  requireOwn(id, actor, 'its object')
  if (!created) return
  checkPost(created)
  const authors = idsOf(created.attributedTo)
  if (created.attributedTo !== undefined && !authors.includes(actor.href)) {
    throw mismatch('its object is attributed to somebody else')
  }
}

function mismatch(problem: string): Rejection {
  return new Rejection('signer_mismatch', `Cannot verify activity: ${problem}`)
}
