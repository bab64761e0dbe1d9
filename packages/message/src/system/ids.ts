// Creates random ids.

import type { System } from './system.ts'

const hexPairs = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** Returns `count` random bytes as lower-case hex. */
export function randomHex({ randomBytes }: Pick<System, 'randomBytes'>, count: number): string {
  let text = ''
  for (const byte of randomBytes(count)) text += hexPairs[byte]
  return text
}

/**
 * Returns an id of 32 hex digits that nobody can guess (80 random bits). Ids sort by the millisecond of their creation, so rows that are stored
 * together lie together, as with UUID version 7 (RFC 9562 §5.7).
 */
export function makeId(system: Pick<System, 'now' | 'randomBytes'>): string {
  return Math.floor(system.now()).toString(16).padStart(12, '0') + randomHex(system, 10)
}
