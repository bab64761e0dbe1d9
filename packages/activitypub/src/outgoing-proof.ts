import type { Json } from '@postern/core'
import type { DocumentKey } from './keys.ts'
import { asObject, textOf } from './reading.ts'
import { proveDocument } from './signature/object-proof.ts'

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
    return proveDocument(members, { verificationMethod: id, privateKey, createdAt }) as Json
  }
}
