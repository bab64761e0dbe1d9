// Finds numbers in JSON text that a double cannot represent exactly.

const stringOrNumber = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g
/** An integer of at least this length may be inexact; shorter ones are always exact. */
const longInteger = /^-?\d{16,}$/

/** Returns true if valid JSON text has an integer that is rounded when it is read, because a double cannot represent it (RFC 8259, section 6). */
export function hasRoundedInteger(text: string): boolean {
  for (const [token] of text.matchAll(stringOrNumber)) {
    if (longInteger.test(token) && String(Number(token)) !== token) return true
  }
  return false
}
