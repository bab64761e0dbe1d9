/** The tags of a DKIM-Signature or of a key record. */
interface TagList {
  /** Values by name; names are case-sensitive. */
  readonly tags: ReadonlyMap<string, string>
  /** False for a tag without `=`, a bad name, an empty tag before the end, or a name that comes twice. */
  readonly isValid: boolean
}

const tagName = /^[A-Za-z][A-Za-z0-9_]*$/

/**
 * Reads a tag-list (RFC 6376 §3.2). Values have no white space around them; quotes and parentheses mean nothing. One
 * that is not valid is read as far as it goes, to be shown.
 */
export function parseTagList(text: string): TagList {
  const specs = text.split(';')
  // One semicolon may stand at the end.
  if (specs.length > 1 && trimSpace(specs.at(-1) ?? '') === '') specs.pop()
  const tags = new Map<string, string>()
  let isValid = true
  for (const spec of specs) {
    const equals = spec.indexOf('=')
    const name = trimSpace(spec.slice(0, Math.max(equals, 0)))
    isValid &&= tagName.test(name) && !tags.has(name)
    tags.set(name, trimSpace(spec.slice(equals + 1)))
  }
  return { tags, isValid }
}

/** Folding white space only: other blanks belong to the value. */
function trimSpace(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && isSpace(text.charCodeAt(start))) start += 1
  while (end > start && isSpace(text.charCodeAt(end - 1))) end -= 1
  return text.slice(start, end)
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0d || code === 0x0a
}

/** A value without the white space that it may be folded with. */
export function withoutSpace(value: string): string {
  return value.replace(/[ \t\r\n]+/g, '')
}

/** The entries of a list with colons, lower case; empty ones do not count. */
export function splitList(value: string): readonly string[] {
  return value.split(':').flatMap(entry => trimSpace(entry).toLowerCase() || [])
}

const base64 = /^[A-Za-z0-9+/]+={0,2}$/

/** The octets of a base64 value that may be folded (`base64string`, RFC 6376 §2.10); undefined when it is none. */
export function decodeBase64(value: string): Buffer | undefined {
  const text = withoutSpace(value)
  return base64.test(text) ? Buffer.from(text, 'base64') : undefined
}
