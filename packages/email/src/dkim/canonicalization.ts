// Canonicalizes header fields and bodies for DKIM (RFC 6376 §3.4).
import { relaxLines } from './relax-lines.ts'

const [LF, CR, SPACE] = [0x0a, 0x0d, 0x20]

/**
 * Canonicalizes header fields (RFC 6376 §3.4.1 and §3.4.2). A field is Latin-1 text without its last line end, because
 * Latin-1 preserves every octet.
 */
export const fieldCanonicalizers = { simple: (field: string) => field, relaxed: relaxField } as const

/** Returns the relaxed form of a header field (RFC 6376 §3.4.2). */
export function relaxField(field: string): string {
  const colon = field.indexOf(':')
  const name = field
    .slice(0, colon)
    .replace(/[ \t]+$/, '')
    .toLowerCase()
  const value = field
    .slice(colon + 1)
    .replace(/\r\n/g, '')
    .replace(/[ \t]{2,}|\t/g, ' ')
  const start = value.startsWith(' ') ? 1 : 0
  return `${name}:${value.slice(start, value.endsWith(' ') && value.length > start ? -1 : undefined)}`
}

/** Returns a canonical DKIM-Signature with an empty `b=`, as the signature itself covers it (RFC 6376 §3.7). */
export function emptySignatureTag(field: string): string {
  const colon = field.indexOf(':')
  // Values contain no semicolons, so a `b=` inside a value is not mistaken for the tag.
  const tagSpecs = field.slice(colon + 1).split(';')
  const unsignedSpecs = tagSpecs.map(spec => /^[ \t\r\n]*b[ \t\r\n]*=/.exec(spec)?.[0] ?? spec)
  return `${field.slice(0, colon + 1)}${unsignedSpecs.join(';')}`
}

const crlf = Buffer.from('\r\n')

/** Canonicalizes bodies (RFC 6376 §3.4.3 and §3.4.4). Line ends are CRLF. A CR without an LF is text. */
export const bodyCanonicalizers = { simple: endWithOneCrlf, relaxed: relaxBody } as const

/** Returns the relaxed form of a body (RFC 6376 §3.4.4). */
export function relaxBody(body: Buffer): Buffer {
  const relaxedBody = endWithOneCrlf(needsRelaxing(body) ? relaxLines(body) : body)
  // An empty body is empty in its relaxed form (RFC 6376 §3.4.4).
  return relaxedBody.length === 2 ? relaxedBody.subarray(2) : relaxedBody
}

/**
 * Removes empty lines at the end of a body, and ends its last line with CRLF. It copies the body only if that CRLF is
 * missing.
 */
function endWithOneCrlf(body: Buffer): Buffer {
  let end = body.length
  while (end >= 2 && body[end - 1] === LF && body[end - 2] === CR) end -= 2
  return end < body.length ? body.subarray(0, end + 2) : Buffer.concat([body, crlf])
}

/** Returns true if relaxing would change a line. Most bodies need no change, and searching is faster than copying. */
function needsRelaxing(body: Buffer): boolean {
  return body.includes('\t') || body.includes('  ') || body.includes(' \r\n') || body.at(-1) === SPACE
}
