import type { Proof } from '@postern/core'
import { Rejection, Unavailable, Undeliverable } from '@postern/core'
import type { Activity } from '../format/activity.ts'
import { isOnOrigin } from '../format/iri.ts'
import type { JsonObject } from '../format/reading.ts'
import { asObject, listOf, textOf } from '../format/reading.ts'
import type { RemoteActors } from '../peers/actor-cache.ts'
import type { RemoteActor } from '../peers/remote-actor.ts'
import { isForAssertion, isKnownProof, isProofMadeBy, maxProofs } from '../signature/object-proof.ts'
import { findAmbiguity } from '../signature/plain-json.ts'
import { isAhead } from '../signature/window.ts'

interface IntegrityClaim {
  readonly activity: Activity
  /** The text as it arrived: only there are repeated members visible. */
  readonly bytes: Uint8Array
  /** The actor's own document. */
  readonly actor: RemoteActor
  /** A proof made before proves nothing, ms; absent: however old it is. */
  readonly notBefore?: number | undefined
}

interface IntegrityDeps {
  readonly actors: Pick<RemoteActors, 'refresh'>
  now(): number
}

/** Options we do not know might limit what the proof is good for (`domain`, `challenge`, `previousProof`). */
const knownMembers: ReadonlySet<string> = new Set([
  '@context',
  'type',
  'cryptosuite',
  'created',
  'expires',
  'verificationMethod',
  'proofPurpose',
  'proofValue',
])
const timePattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/

/**
 * Whether the actor's own key signed the document itself (FEP-8b32, eddsa-jcs-2022), besides the request that brought
 * it. An invalid proof proves nothing, but is no reason to refuse what HTTP has proven. Undefined when there is no
 * proof of the known kind.
 */
export async function verifyObjectProof(claim: IntegrityClaim, parts: IntegrityDeps): Promise<Proof | undefined> {
  // A Linked Data Signature is put on last and is no part of what the proof covers; it proves nothing to us.
  const { proof, signature: _, ...unsecured } = claim.activity.json
  const known = listOf(proof)
    .slice(0, maxProofs)
    .map(asObject)
    .filter(entry => entry !== undefined)
    .filter(isKnownProof)
  const [first] = known
  if (!first) return undefined
  const ambiguity = findAmbiguity(Buffer.from(claim.bytes).toString())
  if (ambiguity) return toVerdict(first, ambiguity)
  let verdict: Proof | undefined
  for (const entry of known) {
    verdict = toVerdict(entry, await findFault({ unsecured, proof: entry }, claim, parts))
    if (verdict.verdict === 'pass') return verdict
  }
  return verdict
}

interface Proven {
  readonly unsecured: JsonObject
  readonly proof: JsonObject
}

/** Structure, then whose key, then times, then the signature. */
async function findFault(proven: Proven, claim: IntegrityClaim, parts: IntegrityDeps): Promise<string | undefined> {
  const { proof } = proven
  const method = textOf(proof.verificationMethod)
  const malformation = findMalformation(proof)
  if (malformation || !method) return malformation ?? 'it names no key'
  const key = await findAssertionKey(method, claim, parts)
  if (!key) return 'its key is not an assertionMethod of the actor'
  return (
    findTimeFault(proof, parts.now(), claim.notBefore) ??
    (isIntact(key, proven) ? undefined : 'it does not fit the document')
  )
}

function findMalformation(proof: JsonObject): string | undefined {
  if (Object.keys(proof).some(name => !knownMembers.has(name))) return 'it has options that are not known'
  return isForAssertion(proof) ? undefined : 'it was not made to assert something'
}

function findTimeFault({ created, expires }: JsonObject, now: number, notBefore = 0): string | undefined {
  const made = parseTime(created)
  if (made === undefined || isAhead(made, now)) return 'it was not made at a time that has been'
  if (made < notBefore) return 'it was made too long ago'
  if (expires === undefined) return undefined
  return (parseTime(expires) ?? 0) > now ? undefined : 'it has expired'
}

function parseTime(value: unknown): number | undefined {
  const ms = typeof value === 'string' && timePattern.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

/** A key made since the actor was last looked at is looked for once in a while. */
async function findAssertionKey(id: string, { activity, actor }: IntegrityClaim, { actors }: IntegrityDeps) {
  const known = actor.assertionKeys.get(id)
  if (known || !isOnOrigin(id, activity.actor.origin)) return known
  try {
    return (await actors.refresh(activity.actor))?.assertionKeys.get(id)
  } catch (error) {
    if (error instanceof Unavailable || error instanceof Undeliverable || error instanceof Rejection) return undefined
    throw error
  }
}

function isIntact(key: Parameters<typeof isProofMadeBy>[0], proven: Proven): boolean {
  try {
    return isProofMadeBy(key, proven)
  } catch (error) {
    // A document without a canonical form was never signed.
    if (error instanceof TypeError) return false
    throw error
  }
}

function toVerdict(proof: JsonObject, fault: string | undefined): Proof {
  const keyId = textOf(proof.verificationMethod)?.slice(0, 2_048)
  return {
    kind: 'object-integrity-proof',
    verdict: fault ? 'fail' : 'pass',
    ...(fault && { reason: fault }),
    ...(keyId && { key_id: keyId }),
    algorithm: 'eddsa-jcs-2022',
  }
}
