// Canonicalizes header fields and bodies for DKIM (RFC 6376 §3.4).
import { relaxLines } from './relax-lines.ts'

const [LF, CR, SPACE] = [0x0a, 0x0d, 0x20]

/** Canonicalizes header fields (RFC 6376 §3.4.1 and §3.4.2). A field is Latin-1 text, which preserves every octet, without its last line end. */
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

/** Returns a canonical DKIM-Signature with an empty `b=`, as the signature itself covers it (RFC 6376 §3.7). */
export function withoutSignature(field: string): string {
  const colon = field.indexOf(':')
  const specs = field.slice(colon + 1).split(';')
  // Only tags have semicolons between them, so a `b=` inside a value is not mistaken for the tag.
  const unsignedSpecs = specs.map(spec => /^[ \t\r\n]*b[ \t\r\n]*=/.exec(spec)?.[0] ?? spec)
  return `${field.slice(0, colon + 1)}${unsignedSpecs.join(';')}`
}

const lineEnd = Buffer.from('\r\n')

/** Canonicalizes bodies (RFC 6376 §3.4.3 and §3.4.4). Line ends are CRLF, and a CR alone is text. */
export const canonicalBodies = { simple: withOneLineEnd, relaxed: relaxBody } as const

export function relaxBody(body: Buffer): Buffer {
  const relaxedBody = withOneLineEnd(hasLooseSpace(body) ? relaxLines(body) : body)
  return relaxedBody.length === 2 ? relaxedBody.subarray(2) : relaxedBody
}

/** Removes empty lines at the end and ends the last line. It copies the body only if that line end is missing. */
function withOneLineEnd(body: Buffer): Buffer {
  let end = body.length
  while (end >= 2 && body[end - 1] === LF && body[end - 2] === CR) end -= 2
  return end < body.length ? body.subarray(0, end + 2) : Buffer.concat([body, lineEnd])
}

/** Returns true if relaxing would change a line. Most bodies need no change, and searching is faster than copying. */
function hasLooseSpace(body: Buffer): boolean {
  return body.includes('\t') || body.includes('  ') || body.includes(' \r\n') || body.at(-1) === SPACE
}
