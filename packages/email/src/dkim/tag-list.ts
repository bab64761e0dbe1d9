// Parses the tag lists of DKIM signatures and key records (RFC 6376 §3.2).

export type Tags = ReadonlyMap<string, string>

const tagNamePattern = /^[A-Za-z][A-Za-z0-9_]*$/

/**
 * Parses the tags of a DKIM-Signature or a key record (RFC 6376 §3.2). Names are case-sensitive, values have no white space around them, and quotes
 * and parentheses have no meaning. An invalid list is read as far as possible, so that it can be shown.
 */
export function parseTagList(text: string) {
  const specs = text.split(';')
  // One semicolon is allowed at the end.
  if (specs.length > 1 && trimSpace(specs.at(-1) ?? '') === '') specs.pop()
  const tags = new Map<string, string>()
  // A list is invalid if it has a tag without `=`, a bad name, an empty tag before the end, or a repeated name.
  let isValid = true
  for (const spec of specs) {
    const equals = spec.indexOf('=')
    const name = trimSpace(spec.slice(0, Math.max(equals, 0)))
    isValid &&= tagNamePattern.test(name) && !tags.has(name)
    tags.set(name, trimSpace(spec.slice(equals + 1)))
  }
  return { tags, isValid }
}

/** Trims folding white space only, because other blanks belong to the value. */
function trimSpace(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && isSpace(text.charCodeAt(start))) start += 1
  while (end > start && isSpace(text.charCodeAt(end - 1))) end -= 1
  return text.slice(start, end)
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0d || code === 0x0a
}

/** Returns a value without its folding white space. */
export function removeSpace(value: string): string {
  return value.replace(/[ \t\r\n]+/g, '')
}

/** Returns the non-empty entries of a colon-separated list in lower case. */
export function splitList(value: string): readonly string[] {
  return value.split(':').flatMap(entry => trimSpace(entry).toLowerCase() || [])
}

const base64Pattern = /^[A-Za-z0-9+/]+={0,2}$/

/** Decodes a base64 value that may be folded (`base64string`, RFC 6376 §2.10). It returns undefined for any other text. */
export function decodeBase64(value: string): Buffer | undefined {
  const text = removeSpace(value)
  return base64Pattern.test(text) ? Buffer.from(text, 'base64') : undefined
}
