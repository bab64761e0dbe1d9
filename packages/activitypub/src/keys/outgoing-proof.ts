import type { Json } from '@postern/core'
import type { JsonObject } from '../format/reading.ts'
import { asObject, textOf } from '../format/reading.ts'
import type { ProofRequest } from '../signature/object-proof.ts'
import { proveDocument } from '../signature/object-proof.ts'
import type { DocumentKey } from './key-pairs.ts'

/** Adds the agent's own proof to a document that leaves, or leaves it as it is. `queuedAt` in ms. Pure. */
export type ProveOutgoing = (document: Json, key: DocumentKey, queuedAt: number) => Json

/**
 * The proof's time is the document's own, so that a document sent again is the same to the byte.
 * `isWanted`: the switch `object_proofs`.
 */
export function createOutgoingProof(isWanted: boolean): ProveOutgoing {
  if (!isWanted) return document => document
  return (document, { id, privateKey }, queuedAt) => {
    const members = asObject(document)
    if (!members) return document
    const published = Date.parse(textOf(members.published) ?? '')
    const createdAt = Number.isNaN(published) ? queuedAt : published
    return proveIfPossible(members, { verificationMethod: id, privateKey, createdAt }) as Json
  }
}

/**
 * A document without a canonical form (half a character in a text) is sent without a proof: that is better than not at
 * all.
 */
function proveIfPossible(document: JsonObject, request: ProofRequest): JsonObject {
  try {
    return proveDocument(document, request)
  } catch (error) {
    if (error instanceof TypeError) return document
    throw error
  }
}
