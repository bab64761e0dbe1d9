/**
 * Canonical header fields (RFC 6376 §3.4.1 and §3.4.2), of fields as Latin-1 text so that every octet is kept, and
 * without the last line end.
 */
export const canonicalFields = { simple: (field: string) => field, relaxed: relaxField } as const

export function relaxField(field: string): string {
  const colon = field.indexOf(':')
  const name = field
    .slice(0, colon)
    .replace(/[ \t]+$/, '')
    .toLowerCase()
  const value = field
    .slice(colon + 1)
    .replace(/\r\n/g, '')
    .replace(/[ \t]+/g, ' ')
  const start = value.startsWith(' ') ? 1 : 0
  return `${name}:${value.slice(start, value.endsWith(' ') && value.length > start ? -1 : undefined)}`
}

/** A canonical DKIM-Signature as its own signature sees it: with an empty `b=` (RFC 6376 §3.7). */
export function withoutSignature(field: string): string {
  const colon = field.indexOf(':')
  const specs = field.slice(colon + 1).split(';')
  // Only tags have semicolons between them, so that no `b=` inside of a value is taken for it.
  const emptied = specs.map(spec => /^[ \t\r\n]*b[ \t\r\n]*=/.exec(spec)?.[0] ?? spec)
  return `${field.slice(0, colon + 1)}${emptied.join(';')}`
}
