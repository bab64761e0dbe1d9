// Compares entity tags with an If-None-Match header (RFC 9110 §13.1.2).

const entityTag = /[ \t,]*(?:W\/)?("[^"]*")[ \t]*(?:,|$)/y

/** Returns true if an If-None-Match header names this entity tag, by weak comparison (RFC 9110 §13.1.2). */
export function matchesEtag(ifNoneMatch: string | null | undefined, etag: string): boolean {
  if (!ifNoneMatch) return false
  if (ifNoneMatch.trim() === '*') return true
  const opaque = etag.replace(/^W\//, '')
  for (let at = 0; at < ifNoneMatch.length; at = entityTag.lastIndex) {
    entityTag.lastIndex = at
    const match = entityTag.exec(ifNoneMatch)
    if (!match) return false
    if (match[1] === opaque) return true
  }
  return false
}
