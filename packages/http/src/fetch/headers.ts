import { refuseFetch } from '../address/url.ts'

/** The exchange's own business; a caller's values for these are left out. Cookies are nobody's. */
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

/** What may follow a redirect to another origin: nothing that proves who we are. */
const portable = new Set(['accept', 'accept-encoding', 'accept-language', 'user-agent'])

const token = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * The header fields to send, names in lower case, with ours put in.
 * @throws Undeliverable when a name or value would break out of its line (RFC 9110 §5.5)
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

/** Leaves out Authorization, Signature and everything else that is meant for one origin. */
export function keepPortableHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => portable.has(name)))
}
