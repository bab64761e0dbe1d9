// Lists the spellings of an id that a person may have copied.

/**
 * Returns the spellings under which an id may be stored, the given one first. Mail programs show a Message-ID with angle brackets, as in the header
 * (RFC 5322 §3.6.4), or without them.
 */
export function listIdSpellings(id: string): readonly string[] {
  const withoutBrackets = id.trim().replace(/^<|>$/g, '')
  return [...new Set([id, withoutBrackets, `<${withoutBrackets}>`])]
}
