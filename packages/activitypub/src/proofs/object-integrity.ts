// Verifies the integrity proofs that documents carry (FEP-8b32, eddsa-jcs-2022).
import type { KeyObject } from 'node:crypto'
import { verify } from 'node:crypto'
import type { Proof } from '@postern/message'
import {
  canonicalizeJson,
  decodeBase58,
  hashCanonicalJson,
  parseJsonText,
  Rejection,
  Unavailable,
  Undeliverable,
} from '@postern/message'
import type { Activity } from '../format/activity.ts'
import { isOnOrigin } from '../format/iri.ts'
import type { JsonObject } from '../format/json-object.ts'
import { asObject, listOf, textOf } from '../format/json-object.ts'
import type { ActorCache } from '../peers/actor-cache.ts'
import type { RemoteActor } from '../peers/actor-document.ts'
import { ignoreFaults } from '../peers/peer-faults.ts'
import { isAheadOfClock } from '../signature/signature-checks.ts'

interface IntegrityClaim {
  readonly activity: Activity
  /** The document as received. Repeated members are visible only in these bytes. */
  readonly bytes: Uint8Array
  /** The actor as its own document describes it. */
  readonly actor: RemoteActor
  /** The earliest time of a valid proof, in ms since the epoch. If it is absent, a proof of any age is valid. */
  readonly notBefore?: number | undefined
}

interface IntegrityDeps {
  readonly actors: Pick<ActorCache, 'refresh'>
  now(): number
}

/** The members of a proof that are known. Other options might limit the use of the proof (`domain`, `challenge`, `previousProof`). */
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
 * Verifies the proof that the actor's own key made of the document itself, in addition to the request that brought it. An invalid proof proves
 * nothing, but is no reason to reject what HTTP has proven. Returns undefined if there is no proof of the known kind.
 */
export async function verifyObjectProof(claim: IntegrityClaim, deps: IntegrityDeps): Promise<Proof | undefined> {
  // A Linked Data Signature is added last and is not covered by the proof. It proves nothing to us.
  const { proof, signature: _, ...unsecured } = claim.activity.receivedJson
  const proofs = listOf(proof)
    .slice(0, maxProofs)
    .map(asObject)
    .filter(entry => entry !== undefined)
    .filter(isKnownProof)
  const [firstProof] = proofs
  if (!firstProof) return undefined
  const ambiguity = findAmbiguity(Buffer.from(claim.bytes).toString())
  if (ambiguity) return toProofRecord(firstProof, ambiguity)
  let lastRecord: Proof | undefined
  for (const entry of proofs) {
    lastRecord = toProofRecord(entry, await findFault({ unsecuredDocument: unsecured, proof: entry }, claim, deps))
    if (lastRecord.verdict === 'pass') return lastRecord
  }
  return lastRecord
}

/** A document that carries its own proof (FEP-8b32). */
interface ProvenDocument {
  /** The document without `proof`. */
  readonly unsecuredDocument: JsonObject
  readonly proof: JsonObject
}

/** Finds the fault of a proof. It checks the structure, then the owner of the key, then the times, then the signature. */
async function findFault(
  document: ProvenDocument,
  claim: IntegrityClaim,
  deps: IntegrityDeps,
): Promise<string | undefined> {
  const { proof } = document
  const method = textOf(proof.verificationMethod)
  const structureFault = findStructureFault(proof)
  if (structureFault || !method) return structureFault ?? 'it names no key'
  const key = await findAssertionKey(method, claim, deps)
  if (!key) return 'its key is not an assertionMethod of the actor'
  return (
    findTimeFault(proof, deps.now(), claim.notBefore) ??
    (isMadeBy(key, document) ? undefined : 'it does not fit the document')
  )
}

function findStructureFault(proof: JsonObject): string | undefined {
  if (Object.keys(proof).some(name => !knownMembers.has(name))) return 'it has options that are not known'
  return proof.proofPurpose === proofSuite.proofPurpose ? undefined : 'it was not made to assert something'
}

function findTimeFault({ created, expires }: JsonObject, now: number, notBefore = 0): string | undefined {
  const createdAt = parseTime(created)
  if (createdAt === undefined || isAheadOfClock(createdAt, now)) return 'it was not made at a time that has been'
  if (createdAt < notBefore) return 'it was made too long ago'
  if (expires === undefined) return undefined
  return (parseTime(expires) ?? 0) > now ? undefined : 'it has expired'
}

function parseTime(value: unknown): number | undefined {
  const ms = typeof value === 'string' && timePattern.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

/** Finds the key of a proof. A key that is newer than the cached actor is fetched only once in a while. */
async function findAssertionKey(id: string, { activity, actor }: IntegrityClaim, { actors }: IntegrityDeps) {
  const assertionKey = actor.assertionKeys.get(id)
  if (assertionKey || !isOnOrigin(id, activity.actor.origin)) return assertionKey
  const refreshedActor = await ignoreFaults([Unavailable, Undeliverable, Rejection], () =>
    actors.refresh(activity.actor),
  )
  return refreshedActor?.assertionKeys.get(id)
}

function isMadeBy(key: Parameters<typeof isProofMadeBy>[0], document: ProvenDocument): boolean {
  try {
    return isProofMadeBy(key, document)
  } catch (error) {
    // A document without a canonical form cannot have been signed.
    if (error instanceof TypeError) return false
    throw error
  }
}

function toProofRecord(proof: JsonObject, fault: string | undefined): Proof {
  const keyId = textOf(proof.verificationMethod)?.slice(0, 2_048)
  return {
    kind: 'object-integrity-proof',
    verdict: fault ? 'fail' : 'pass',
    ...(fault && { reason: fault }),
    ...(keyId && { key_id: keyId }),
    algorithm: 'eddsa-jcs-2022',
  }
}

/** The most proofs that are read of one document. Further proofs are ignored. */
export const maxProofs = 4

const signatureLength = 64

/** Returns true if the proof has the supported type and cryptosuite, regardless of its key. */
export function isKnownProof({ type, cryptosuite }: JsonObject): boolean {
  return type === proofSuite.type && cryptosuite === proofSuite.cryptosuite
}

/**
 * Returns true if `key` (Ed25519) made the proof over the document (vc-di-eddsa §3.3). Older programs hash the document's context into a proof
 * that does not contain it. In both cases the same content is signed.
 */
export function isProofMadeBy(key: KeyObject, { unsecuredDocument: unsecured, proof }: ProvenDocument): boolean {
  const { proofValue, ...options } = proof
  const signature = readSignature(proofValue)
  const document = applyProofContext(proof, unsecured)
  if (!signature || !document || key.asymmetricKeyType !== 'ed25519') return false
  const documentHash = hashCanonicalJson(document)
  const optionForms = '@context' in options ? [options] : [options, { ...options, '@context': unsecured['@context'] }]
  return optionForms.some(options =>
    verify(null, Buffer.concat([hashCanonicalJson(options), documentHash]), key, signature),
  )
}

function readSignature(proofValue: unknown): Uint8Array | undefined {
  if (typeof proofValue !== 'string' || !proofValue.startsWith('z')) return undefined
  const bytes = decodeBase58(proofValue.slice(1))
  return bytes?.length === signatureLength ? bytes : undefined
}

/**
 * Returns the document in the context of its proof. The proof's own context must be the beginning of the document's, and the signature covers
 * only the context of the proof.
 */
function applyProofContext(proof: JsonObject, unsecured: JsonObject): JsonObject | undefined {
  const context = proof['@context']
  if (context === undefined) return unsecured
  const documentContexts = [unsecured['@context'] ?? []].flat()
  const proofContexts = [context].flat()
  const isBeginning = proofContexts.every(
    (entry, index) => canonicalizeJson(entry) === canonicalizeJson(documentContexts[index] ?? null),
  )
  return isBeginning ? { ...unsecured, '@context': context } : undefined
}

const tokenPattern =
  /[ \t\r\n]*(?:"([^"\\]*(?:\\.[^"\\]*)*)"([ \t\r\n]*:)?|([[{])|([\]}])|(-?\d[\d.eE+-]*)|(true|false|null)|,)[ \t\r\n]*/y

/**
 * Finds the reason why two readers of this text may see different documents, or returns undefined if there is none. Reasons are a repeated
 * member, or a number that is not canonical (`1.0`, `1e3`, too many digits). The text must be JSON. It takes linear time.
 */
export function findAmbiguity(text: string): string | undefined {
  const openValues: OpenValue[] = []
  tokenPattern.lastIndex = text.startsWith('\ufeff') ? 1 : 0
  while (tokenPattern.lastIndex < text.length) {
    const token = tokenPattern.exec(text)
    const fault = token ? findTokenFault(token, openValues.at(-1)) : 'it cannot be read'
    if (fault) return fault
    updateOpenValues(token?.[3], token?.[4], openValues)
  }
  return undefined
}

/** The names seen so far in an object. Undefined for an array. */
type OpenValue = Set<string> | undefined

function findTokenFault([, string, colon, , , number]: RegExpExecArray, openValue: OpenValue): string | undefined {
  if (colon !== undefined && isRepeatedName(string ?? '', openValue)) return 'a member is repeated'
  if (number !== undefined && String(Number(number)) !== number) return 'a number is not in its canonical form'
  return undefined
}

function updateOpenValues(
  openingBracket: string | undefined,
  closingBracket: string | undefined,
  openValues: OpenValue[],
): void {
  if (openingBracket) openValues.push(openingBracket === '{' ? new Set() : undefined)
  if (closingBracket) openValues.pop()
}

function isRepeatedName(jsonName: string, names: Set<string> | undefined): boolean {
  const name = jsonName.includes('\\') ? (parseJsonText(`"${jsonName}"`) as string) : jsonName
  if (!names || names.has(name)) return true
  names.add(name)
  return false
}

/** The supported kind of proof of a document (FEP-8b32). */
export const proofSuite = {
  type: 'DataIntegrityProof',
  cryptosuite: 'eddsa-jcs-2022',
  proofPurpose: 'assertionMethod',
} as const
