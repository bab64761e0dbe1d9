// Compares entity tags with an If-None-Match header.

const entityTagPattern = /[ \t,]*(?:W\/)?("[^"]*")[ \t]*(?:,|$)/y

/** Returns true if an If-None-Match header names this entity tag, by weak comparison (RFC 9110 §13.1.2). */
export function matchesEtag(ifNoneMatch: string | null | undefined, etag: string): boolean {
  if (!ifNoneMatch) return false
  if (ifNoneMatch.trim() === '*') return true
  const opaqueTag = etag.replace(/^W\//, '')
  for (let position = 0; position < ifNoneMatch.length; position = entityTagPattern.lastIndex) {
    entityTagPattern.lastIndex = position
    const match = entityTagPattern.exec(ifNoneMatch)
    if (!match) return false
    if (match[1] === opaqueTag) return true
  }
  return false
}
