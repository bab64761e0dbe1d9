import { createHash } from 'node:crypto'
import type { Json } from '@postern/core'

/** JSON with its members in one order and without absent ones: equal values give equal text. */
function formatCanonicalJson(value: Json | undefined): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (member === null || typeof member !== 'object' || Array.isArray(member)) return member
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : Number(a > b))))
  })
}

/** SHA-256 over the canonical JSON of `value`, lower-case hex: the same content, the same hash, on every machine. */
export function hashContent(value: Json): string {
  return createHash('sha256').update(formatCanonicalJson(value)).digest('hex')
}
