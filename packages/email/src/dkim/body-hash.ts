// Hashes the canonical body of a message for each of its signatures.
import { bodyCanonicalizers } from './canonicalization.ts'
import { hashPrefixes } from './prefix-hashes.ts'
import type { DkimSignature } from './signature-report.ts'

/** The hash of the part of a body that one signature covers. */
export interface BodyHash {
  /** The SHA-256 of the covered octets, in base64. */
  readonly hash: string
  /** The number of octets of the canonical body after `l=`. */
  readonly uncoveredOctets: number
}

/**
 * Creates a function that returns the hash of the body for a signature. It canonicalizes and reads the body once per
 * canonicalization, regardless of the number of body lengths.
 */
export function createBodyHasher(
  octets: Buffer,
  signatures: readonly DkimSignature[],
): (signature: DkimSignature) => BodyHash {
  const hashesByForm = new Map<string, { readonly size: number; readonly digests: ReadonlyMap<number, string> }>()
  for (const form of ['simple', 'relaxed'] as const) {
    const formSignatures = signatures.filter(({ error, bodyForm }) => !error && bodyForm === form)
    if (formSignatures.length === 0) continue
    const body = bodyCanonicalizers[form](octets)
    const lengths = formSignatures.map(({ bodyLength }) => Math.min(bodyLength ?? body.length, body.length))
    hashesByForm.set(form, { size: body.length, digests: hashPrefixes(body, lengths) })
  }
  return ({ error, bodyForm, bodyLength }) => {
    if (error) return { hash: '', uncoveredOctets: 0 }
    const { size, digests } = hashesByForm.get(bodyForm) ?? { size: 0, digests: new Map<number, string>() }
    const length = Math.min(bodyLength ?? size, size)
    return { hash: digests.get(length) ?? '', uncoveredOctets: size - length }
  }
}
