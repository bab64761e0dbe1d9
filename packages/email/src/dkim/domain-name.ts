import { domainToASCII } from 'node:url'

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const domainName = new RegExp(`^${label}(?:\\.${label})+$`)
const selectorName = new RegExp(`^${label}(?:\\.${label})*$`)

/** A `domain-name` (RFC 6376 §3.5) in lower case, as A-labels; undefined when it is none. */
export function readDomain(text: string): string | undefined {
  const name = toAscii(text)
  return domainName.test(name) ? name : undefined
}

/** A selector: one label or more (RFC 6376 §3.1). */
export function readSelector(text: string): string | undefined {
  const name = toAscii(text)
  return selectorName.test(name) ? name : undefined
}

/** Mail beyond ASCII may have U-labels (RFC 8616 §5). */
function toAscii(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
  return /^[\x00-\x7f]*$/.test(text) ? text.toLowerCase() : domainToASCII(text)
}

const atom = "[\\w!#$%&'*+\\-/=?^`{|}~\\u0080-\\u{10ffff}]+"
const localPart = new RegExp(`^(?:${atom}(?:\\.${atom})*|"(?:[^"\\\\\\r\\n]|\\\\.)*")?$`, 'u')

/**
 * The domain of an `i=` (RFC 6376 §3.5), which may be dkim-quoted-printable (RFC 6376 §2.11); undefined when it is no identity.
 */
export function readIdentityDomain(value: string): string | undefined {
  const octets = Buffer.from(value.replace(/[ \t\r\n]+/g, '')).toString('latin1')
  const decoded = octets.replace(/=([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  const text = Buffer.from(decoded, 'latin1').toString()
  const at = text.lastIndexOf('@')
  return at >= 0 && localPart.test(text.slice(0, at)) ? readDomain(text.slice(at + 1)) : undefined
}
