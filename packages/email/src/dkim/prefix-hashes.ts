// Hashes the beginnings of a body, as signatures with a body length (`l=`) need them.
import { createHash } from 'node:crypto'

/** Returns the SHA-256, in base64, of the beginnings of some octets with these lengths. It reads the octets once for all lengths. */
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
