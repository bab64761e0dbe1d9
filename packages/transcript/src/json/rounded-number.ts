// Finds numbers in JSON text that a double cannot represent exactly.

const stringOrNumber = /"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g
/** An integer of at least this length may be inexact. Shorter integers are always exact. */
const longInteger = /^-?\d{16,}$/

/** Returns true if valid JSON text has an integer that is rounded when it is read, because a double cannot represent it (RFC 8259, section 6). */
export function hasRoundedInteger(text: string): boolean {
  stringOrNumber.lastIndex = 0
  for (let match = stringOrNumber.exec(text); match; match = stringOrNumber.exec(text)) {
    const [token] = match
    if (token === '"') stringOrNumber.lastIndex = findStringEnd(text, stringOrNumber.lastIndex)
    else if (longInteger.test(token) && String(Number(token)) !== token) return true
  }
  return false
}

/** Finds the end of a string. A pattern of the whole string would need stack for each of its characters, and a file may have millions. */
function findStringEnd(text: string, start: number): number {
  for (let quote = text.indexOf('"', start); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let escapes = 0
    while (text[quote - 1 - escapes] === '\\') escapes += 1
    if (escapes % 2 === 0) return quote + 1
  }
  return text.length
}
