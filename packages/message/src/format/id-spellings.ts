// Spells an id as a person may have copied it.

/**
 * Returns the spellings under which something may be stored that a person names by this id, as given first. Mail programs show a Message-ID
 * with its angle brackets, as it stands in the header (RFC 5322 §3.6.4), or without them.
 */
export function listIdSpellings(id: string): readonly string[] {
  const bare = id.trim().replace(/^<|>$/g, '')
  return [...new Set([id, bare, `<${bare}>`])]
}
