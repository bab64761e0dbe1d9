import { refuseFetch } from '../address/url.ts'

/** Headers that the exchange sets itself. A caller's values are left out. Nobody sends cookies. */
const owned = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Headers that may follow a redirect to another origin: no credentials. */
const portable = new Set(['accept', 'accept-encoding', 'accept-language', 'user-agent'])

const token = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * The header fields to send, names in lower case, with our own added. @throws Undeliverable for a name or value that would break its line
 * (RFC 9110 §5.5)
 */
export function readFetchHeaders(
  given: Readonly<Record<string, string>>,
  { userAgent, length }: { readonly userAgent: string; readonly length: number | undefined },
): Record<string, string> {
  const headers: Record<string, string> = { 'user-agent': userAgent, 'accept-encoding': 'identity' }
  for (const [name, value] of Object.entries(given)) {
    const key = name.toLowerCase()
    if (!token.test(key) || !fieldValue.test(value))
      throw refuseFetch('header holds characters that do not belong there')
    if (!owned.has(key)) headers[key] = value
  }
  if (length !== undefined) headers['content-length'] = String(length)
  return headers
}

/** Leaves out Authorization, Signature and all other headers for one origin. */
export function keepPortableHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => portable.has(name)))
}
