// Lists the spellings of an id that a person may have copied.

/** An id of the gateway (`makeId`), with which the Message-IDs of its own mails begin. */
const ownMessageIdPattern = /^([\da-f]{32})@/

/**
 * Returns the spellings under which an id may be stored, the given one first. Mail programs show a Message-ID with angle brackets, as in the header
 * (RFC 5322 §3.6.4), or without them. The Message-ID of a mail of the gateway has the id of the answer before its `@`.
 */
export function listIdSpellings(id: string): readonly string[] {
  const withoutBrackets = id.trim().replace(/^<|>$/g, '')
  const [, answerId] = ownMessageIdPattern.exec(withoutBrackets) ?? []
  return [...new Set([id, withoutBrackets, `<${withoutBrackets}>`, ...(answerId === undefined ? [] : [answerId])])]
}
