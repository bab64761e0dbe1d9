// Creates the record of a public key that proved a message.

import { hash } from 'node:crypto'
import type { ProofKey } from '@postern/message'

/** Returns the record of a public key, named by its digest. */
export function toProofKey(kind: ProofKey['kind'], material: string, owner?: string): ProofKey {
  return { digest: hash('sha256', material, 'base64url'), kind, material, ...(owner !== undefined && { owner }) }
}
