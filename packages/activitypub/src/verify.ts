import type { AgentDirectory, CheckedProof, IntakeSteps, KeyOrigin, Proof, RefusalClaims, Store } from '@postern/core'
import { Rejection } from '@postern/core'
import { checkDeclaredBody, parseBoundedJson, readBody } from '@postern/http'
import type { Activity, Iri, JsonObject } from './format/document.ts'
import {
  asObject,
  findHost,
  idOf,
  isActivityMediaType,
  isOnOrigin,
  listOf,
  onlyOf,
  parseActivity,
  parseIri,
} from './format/document.ts'
import { parsePieceId, parsePostIri } from './format/own-posts.ts'
import type { RemoteActor } from './peers/actor-document.ts'
import type { FindKeyOwner } from './peers/document-fetch.ts'
import type { IsBlocked, RemoteActors } from './peers/known-peers.ts'
import { asPeersFault, keyOf } from './peers/known-peers.ts'
import { isKnownProof, maxProofs, verifyObjectProof } from './proofs/object-integrity.ts'
import type { DeletedActor, Facts, ProvenActivity, provenBrand, VerifiedDelivery } from './proofs/proven-activity.ts'
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

/** What it takes to find out who has signed a request. */
export interface VerifyFetchDeps {
  readonly actors: RemoteActors
  readonly findKeyOwner: FindKeyOwner
  readonly isBlocked: IsBlocked
  /** The configured origin that peers sign for. */
  readonly origin: string
  readonly windowMs: number
  now(): number
}

interface VerifyDeps extends VerifyFetchDeps {
  readonly agents: Pick<AgentDirectory, 'find'>
  readonly store: Pick<Store, 'findResponse'>
}

const maxBodyBytes = 1024 * 1024
const maxDepth = 32
/** How long after its proof an activity may still be forwarded. */
const maxCarriedMs = 86_400_000

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
  const isKnown = parts.actors.knows(activity.actor)
  const actor = await findSigner(activity.actor, parts.actors)
  if (!actor) return endOfGone(activity, parts.actors)
  const signer = await proveSigner({ iri: activity.actor, actor, proof }, parts.actors)
  const from = isKnown && signer === actor ? 'cache' : 'fetched'
  steps.note(signatureOf(proof), signerAt, { from, key: keyOf(signer, proof.keyId) })
  const objectAt = steps.now()
  const hasProof = activity.json.proof !== undefined
  const objectProof = hasProof ? await verifyObjectProof({ activity, bytes, actor: signer }, parts) : undefined
  noteObjectProof(objectProof, signer, { steps, since: objectAt, from })
  return prove({ activity, actor: signer, bytes, arrival, receivedAt: parts.now() }, proof, objectProof)
}

/**
 * An activity that another server forwards. Its HTTP signature proves only the carrier; the document's own proof
 * (FEP-8b32) proves the actor. An old proof does not count, or anyone with a copy could replay it.
 * @throws Rejection, Unavailable
 */
async function verifyCarried(
  { activity, bytes, arrival }: Pick<ProvenActivity, 'activity' | 'bytes' | 'arrival'>,
  proof: RequestProof,
  parts: VerifyDeps & { readonly steps: IntakeSteps },
): Promise<VerifiedDelivery> {
  const { steps } = parts
  const carrierAt = steps.now()
  const carrier = await identifySigner(proof, parts)
  steps.note({ ...signatureOf(proof), verdict: 'none' }, carrierAt)
  const objectAt = steps.now()
  const from = parts.actors.knows(activity.actor) ? 'cache' : 'fetched'
  const actor = await findSigner(activity.actor, parts.actors)
  if (!actor) return endOfGone(activity, parts.actors)
  const notBefore = parts.now() - maxCarriedMs
  const objectProof = await verifyObjectProof({ activity, bytes, actor, notBefore }, parts)
  noteObjectProof(objectProof, actor, { steps, since: objectAt, from })
  if (objectProof?.verdict !== 'pass') {
    const reason = objectProof?.reason ?? 'there is none'
    throw new Rejection('signer_mismatch', `Cannot verify activity: its own proof does not hold, ${reason}`)
  }
  const reason = `it proves only who passes the activity on, ${carrier.id}`
  const byCarrier: Proof = {
    kind: 'http-signature',
    verdict: 'none',
    reason,
    key_id: proof.keyId,
    scheme: proof.scheme,
  }
  const proofs = [byCarrier, digestProof, objectProof]
  const proven = {
    activity,
    actor,
    bytes,
    arrival,
    receivedAt: parts.now(),
    keyId: undefined,
    objectKeyId: objectProof.key_id,
    proofs,
  }
  return proven as unknown as ProvenActivity
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

const digestProof: Proof = { kind: 'digest', verdict: 'pass' }

function signatureOf({ keyId }: RequestProof): CheckedProof {
  return { kind: 'http-signature', verdict: 'pass', key_id: keyId }
}

interface NotedProof {
  readonly steps: IntakeSteps
  readonly since: number
  readonly from: KeyOrigin
}

function noteObjectProof(proof: Proof | undefined, actor: RemoteActor, { steps, since, from }: NotedProof): void {
  if (proof) steps.note(proof, since, { from, key: keyOf(actor, proof.key_id) })
}

function checkAddressee({ agent }: InboxRequest, agents: VerifyDeps['agents']): void {
  if (agent !== undefined && !agents.find(agent)) throw new Rejection('no_recipient', 'Cannot deliver: no such agent')
}

function checkMediaType(headers: Headers): void {
  if (isActivityMediaType(headers.get('content-type'))) return
  throw new Rejection('unsupported', 'Cannot read activity: Content-Type is not application/activity+json')
}

/** Servers announce the end of an actor to all they know, when its key can no longer be had; 401 would make them repeat it. */
function endOfGone({ type, json, actor }: Activity, actors: RemoteActors): DeletedActor | 'nothing' {
  if (type === 'Delete' && idOf(json.object) === actor.href)
    return actors.isGone(actor) ? { gone: actor.href } : 'nothing'
  throw new Rejection('signature_invalid', 'Cannot verify activity: its actor is gone')
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

/** A peer claims to be `iri`, whose own document is `actor`. */
interface SignerClaim {
  readonly iri: Iri
  readonly actor: RemoteActor
  readonly proof: RequestProof
}

/** Undefined when the actor is gone for good. @throws Rejection, Unavailable */
function findSigner(iri: Iri, actors: Pick<RemoteActors, 'find'>): Promise<RemoteActor | undefined> {
  return asPeersFault(() => actors.find(iri))
}

/**
 * The key must be listed by the actor's own document; a key that changed since is looked up once more.
 * @throws Rejection `signer_mismatch`, `signature_invalid`; Unavailable
 */
async function proveSigner(claim: SignerClaim, actors: Pick<RemoteActors, 'refresh'>): Promise<RemoteActor> {
  if (findFault(claim) === undefined) return claim.actor
  const actor = (await asPeersFault(() => actors.refresh(claim.iri))) ?? claim.actor
  const fault = findFault({ ...claim, actor })
  if (fault) throw fault
  return actor
}

function findFault({ actor, proof }: SignerClaim): Rejection | undefined {
  const key = actor.keys.get(proof.keyId)
  if (!key) return new Rejection('signer_mismatch', "Cannot verify activity: its actor does not list the signer's key")
  if (proof.isMadeBy(key)) return undefined
  return new Rejection('signature_invalid', 'Cannot verify activity: signature does not fit')
}

/**
 * The key by which a document of an actor on another host than the request's signer claims to prove itself (FEP-8b32): another server
 * passes it on. Undefined when the signer is on the actor's own host, or the document has no such proof. Nothing is proven yet.
 */
function findCarriedKey(document: unknown, keyId: string): string | undefined {
  const json: JsonObject = asObject(document) ?? {}
  const actor = idOf(onlyOf(json.actor))
  if (!actor || findHost(actor) === undefined) return undefined
  const { origin } = parseIri(actor, 'its actor')
  if (isOnOrigin(keyId, origin)) return undefined
  const proofs = listOf(json.proof).slice(0, maxProofs).map(asObject)
  const methods = proofs.map(proof => proof && isKnownProof(proof) && idOf(proof.verificationMethod))
  return methods.find(method => typeof method === 'string' && isOnOrigin(method, origin)) || undefined
}

/**
 * The signer of a request, whatever its content, by the key's owner and the owner's document.
 * @throws Rejection, Unavailable
 */
export async function identifySigner(
  proof: RequestProof,
  { isBlocked, findKeyOwner, actors }: Pick<VerifyFetchDeps, 'isBlocked' | 'findKeyOwner' | 'actors'>,
): Promise<RemoteActor> {
  const key = readKeyId(proof.keyId)
  if (isBlocked(key.host)) throw new Rejection('forbidden', 'Cannot accept request: the host that signs it is blocked')
  const iri = await asPeersFault(() => findKeyOwner(key))
  const actor = await findSigner(iri, actors)
  if (!actor) throw new Rejection('signature_invalid', 'Cannot verify request: its signer is gone')
  return proveSigner({ iri, actor, proof }, actors)
}

function readKeyId(keyId: string) {
  try {
    return parseIri(keyId, "its signer's key")
  } catch (cause) {
    throw new Rejection('signature_invalid', 'Cannot verify request: its key has no https IRI', { cause })
  }
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
