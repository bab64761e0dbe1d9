import type { AgentDirectory, CheckedProof, IntakeSteps, KeyOrigin, Proof, RefusalClaims, Store } from '@postern/core'
import { Rejection } from '@postern/core'
import { checkDeclaredBody, parseBoundedJson, readBody } from '@postern/http'
import type { Facts } from './facts.ts'
import type { Activity } from './format/activity.ts'
import { parseActivity } from './format/activity.ts'
import { isOnOrigin } from './format/iri.ts'
import { peekClaims } from './format/peek-claims.ts'
import { asObject, idOf, onlyOf } from './format/reading.ts'
import { isActivityMediaType } from './format/vocabulary.ts'
import { parsePostIri } from './inbox/own-post.ts'
import type { RemoteActors } from './peers/actor-cache.ts'
import type { IsBlocked } from './peers/blocklist.ts'
import type { RemoteActor } from './peers/remote-actor.ts'
import { parsePieceId } from './posts/pieces.ts'
import { keyOf } from './proofs/actor-keys.ts'
import { findCarriedKey, identifySigner } from './proofs/carried-activity.ts'
import type { FindKeyOwner } from './proofs/key-owner.ts'
import { verifyObjectProof } from './proofs/object-integrity.ts'
import type { DeletedActor, ProvenActivity, provenBrand, VerifiedDelivery } from './proofs/proven-activity.ts'
import { findSigner, proveSigner } from './proofs/signer.ts'
import type { RequestProof } from './signature/request-proof.ts'
import { readRequestProof } from './signature/request-proof.ts'
import { recordRequest } from './signature/request-record.ts'
import { toSignedRequest } from './signature/signed-request.ts'

/** A request to an inbox, unread. `agent` is the one named by the path; absent for the shared inbox. */
export interface InboxRequest {
  readonly request: Request
  readonly agent?: string | undefined
  /** What our own store knew when it came; absent: the store is asked. */
  readonly facts?: Facts | undefined
}

interface VerifyDeps {
  readonly agents: Pick<AgentDirectory, 'find'>
  readonly store: Pick<Store, 'findResponse'>
  readonly actors: RemoteActors
  readonly findKeyOwner: FindKeyOwner
  readonly isBlocked: IsBlocked
  /** The configured origin that peers sign for. */
  readonly origin: string
  readonly windowMs: number
  now(): number
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
  if (parts.isBlocked(activity.actor.host)) throw blocked()
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
  const objectProof = await verifyObjectProof({ activity, bytes, actor: signer }, parts)
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

function blocked(): Rejection {
  return new Rejection('forbidden', 'Cannot accept activity: its host is blocked')
}
