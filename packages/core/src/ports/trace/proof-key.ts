import { hash } from 'node:crypto'
import type { ProofKey } from './trace.ts'

/** A public key as the record keeps it. */
export function toProofKey(kind: ProofKey['kind'], material: string, owner?: string): ProofKey {
  return { digest: hash('sha256', material, 'base64url'), kind, material, ...(owner !== undefined && { owner }) }
}
