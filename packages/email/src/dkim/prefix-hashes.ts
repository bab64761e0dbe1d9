// Hashes the beginnings of a body for signatures with a body length (`l=`).
import { createHash } from 'node:crypto'

/** Returns the SHA-256 of the beginnings with these lengths, in base64. It reads the octets only once. */
export function hashPrefixes(octets: Buffer, lengths: readonly number[]): ReadonlyMap<number, string> {
  const hash = createHash('sha256')
  const digests = new Map<number, string>()
  let hashedBytes = 0
  for (const length of [...new Set(lengths)].toSorted((left, right) => left - right)) {
    hash.update(octets.subarray(hashedBytes, length))
    hashedBytes = length
    digests.set(length, hash.copy().digest('base64'))
  }
  return digests
}
