// Adds the agent's own proof to outgoing documents (FEP-8b32, eddsa-jcs-2022).
import type { KeyObject } from 'node:crypto'
import { sign } from 'node:crypto'
import type { Json } from '@postern/message'
import { encodeBase58, hashCanonicalJson } from '@postern/message'
import type { JsonObject } from '../format/json-object.ts'
import { asObject, textOf } from '../format/json-object.ts'
import type { DocumentKey } from '../keys/key-generations.ts'
import { proofSuite } from './object-integrity.ts'

/** Adds the agent's own proof to an outgoing document, or returns the document unchanged. `queuedAt` is in ms. It is pure. */
export type ProveOutgoing = (document: Json, key: DocumentKey, queuedAt: number) => Json

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
