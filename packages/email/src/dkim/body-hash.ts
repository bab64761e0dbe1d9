import { createHash } from 'node:crypto'
import { canonicalBodies } from './canonical-body.ts'
import type { DkimSignature } from './signature.ts'

/** The body as one signature covers it. */
export interface BodyHash {
  /** SHA-256, base64. */
  readonly hash: string
  /** Octets of the canonical body behind `l=`. */
  readonly uncovered: number
}

/** One canonical body and one pass over it for each canonicalization, however many lengths are asked for. */
export function hashBodies(
  octets: Buffer,
  signatures: readonly DkimSignature[],
): (signature: DkimSignature) => BodyHash {
  const hashed = new Map<string, { readonly size: number; readonly digests: ReadonlyMap<number, string> }>()
  for (const form of ['simple', 'relaxed'] as const) {
    const asked = signatures.filter(({ fault, bodyForm }) => !fault && bodyForm === form)
    if (asked.length === 0) continue
    const body = canonicalBodies[form](octets)
    const lengths = asked.map(({ bodyLength }) => Math.min(bodyLength ?? body.length, body.length))
    hashed.set(form, { size: body.length, digests: hashPrefixes(body, lengths) })
  }
  return ({ fault, bodyForm, bodyLength }) => {
    if (fault) return { hash: '', uncovered: 0 }
    const { size, digests } = hashed.get(bodyForm) ?? { size: 0, digests: new Map<number, string>() }
    const length = Math.min(bodyLength ?? size, size)
    return { hash: digests.get(length) ?? '', uncovered: size - length }
  }
}

/** SHA-256 of the first octets, base64, for each of some lengths: one pass over the octets for all of them. */
export function hashPrefixes(octets: Buffer, lengths: readonly number[]): ReadonlyMap<number, string> {
  const hash = createHash('sha256')
  const digests = new Map<number, string>()
  let hashed = 0
  for (const length of [...new Set(lengths)].toSorted((left, right) => left - right)) {
    hash.update(octets.subarray(hashed, length))
    hashed = length
    digests.set(length, hash.copy().digest('base64'))
  }
  return digests
}
