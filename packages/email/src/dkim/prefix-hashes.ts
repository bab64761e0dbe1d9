// Hashes the beginnings of a body for signatures with a body length (`l=`).
import { createHash, hash as hashAtOnce } from 'node:crypto'

/** Returns the SHA-256 of the beginnings with these lengths, in base64. It reads the octets only once. */
export function hashPrefixes(octets: Buffer, lengths: readonly number[]): ReadonlyMap<number, string> {
  const [firstLength = 0] = lengths
  // A single hash takes less time in one call, and most mail needs a single one.
  if (lengths.every(length => length === firstLength))
    return new Map([[firstLength, hashAtOnce('sha256', octets.subarray(0, firstLength), 'base64')]])
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
