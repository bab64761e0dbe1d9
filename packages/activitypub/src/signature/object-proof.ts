import type { KeyObject } from 'node:crypto'
import { sign, verify } from 'node:crypto'
import { canonicalizeJson, decodeBase58, encodeBase58, hashCanonicalJson } from '@postern/core'

type JsonMembers = Readonly<Record<string, unknown>>

/** A document that carries its own proof (FEP-8b32). */
interface ProvenDocument {
  /** Without `proof`. */
  readonly unsecured: JsonMembers
  readonly proof: JsonMembers
}

const suite = { type: 'DataIntegrityProof', cryptosuite: 'eddsa-jcs-2022', proofPurpose: 'assertionMethod' } as const

/** The context that gives `proof` its meaning to readers of JSON-LD. */
const dataIntegrityContext = 'https://w3id.org/security/data-integrity/v1'

/** For one document; further ones are ignored. */
export const maxProofs = 4

const signatureLength = 64

/** Whether this is a proof of the one known kind, whoever made it. */
export function isKnownProof({ type, cryptosuite }: JsonMembers): boolean {
  return type === suite.type && cryptosuite === suite.cryptosuite
}

export function isForAssertion({ proofPurpose }: JsonMembers): boolean {
  return proofPurpose === suite.proofPurpose
}

/**
 * Whether `key` (Ed25519) made the proof over the document (vc-di-eddsa §3.3). Older writers hash the document's
 * context into a proof that does not show it; both readings sign the same words.
 */
export function isProofMadeBy(key: KeyObject, { unsecured, proof }: ProvenDocument): boolean {
  const { proofValue, ...options } = proof
  const signature = readSignature(proofValue)
  const document = inContextOf(proof, unsecured)
  if (!signature || !document || key.asymmetricKeyType !== 'ed25519') return false
  const hashed = hashCanonicalJson(document)
  const readings = '@context' in options ? [options] : [options, { ...options, '@context': unsecured['@context'] }]
  return readings.some(reading => verify(null, Buffer.concat([hashCanonicalJson(reading), hashed]), key, signature))
}

function readSignature(proofValue: unknown): Uint8Array | undefined {
  if (typeof proofValue !== 'string' || !proofValue.startsWith('z')) return undefined
  const bytes = decodeBase58(proofValue.slice(1))
  return bytes?.length === signatureLength ? bytes : undefined
}

/** A proof's own context must begin the document's, and is the one that was signed. */
function inContextOf(proof: JsonMembers, unsecured: JsonMembers): JsonMembers | undefined {
  const context = proof['@context']
  if (context === undefined) return unsecured
  const shown = [unsecured['@context'] ?? []].flat()
  const signed = [context].flat()
  const isBeginning = signed.every((entry, at) => canonicalizeJson(entry) === canonicalizeJson(shown[at] ?? null))
  return isBeginning ? { ...unsecured, '@context': context } : undefined
}

export interface ProofRequest {
  /** IRI of the key in the actor's `assertionMethod`. */
  readonly verificationMethod: string
  /** Ed25519. */
  readonly privateKey: KeyObject
  /** Milliseconds. */
  readonly createdAt: number
}

/** Adds a proof. Pure: Ed25519 gives the same signature for the same words, so a document proven again is the same. */
export function proveDocument(
  document: JsonMembers,
  { verificationMethod, privateKey, createdAt }: ProofRequest,
): JsonMembers {
  const context = [document['@context'] ?? []].flat()
  const unsecured = { ...document, '@context': [...context, dataIntegrityContext] }
  const created = `${new Date(createdAt).toISOString().slice(0, 19)}Z`
  const options = { '@context': unsecured['@context'], ...suite, created, verificationMethod }
  const signed = Buffer.concat([hashCanonicalJson(options), hashCanonicalJson(unsecured)])
  const proofValue = `z${encodeBase58(sign(null, signed, privateKey))}`
  return { ...unsecured, proof: { ...options, proofValue } }
}
