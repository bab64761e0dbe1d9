// Plans an HTTP request: its headers, its length and its repetition.

import type { FetchRequest } from '@postern/message'
import { refuseFetch } from '../address/public-address.ts'
import type { ExchangeRequest } from './exchange.ts'

/** The headers that the exchange sets itself, so that a caller's values are left out. Cookies are never sent. */
const ownHeaders = new Set([
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

/** The headers that may follow a redirect to another origin. They contain no credentials. */
const portableHeaders = new Set(['accept', 'accept-encoding', 'accept-language', 'user-agent'])

const fieldName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * Returns the header fields to send, with names in lower case and our own fields added. @throws Undeliverable for a name or value that would break
 * its line (RFC 9110 §5.5)
 */
function readFetchHeaders(
  callerHeaders: Readonly<Record<string, string>>,
  { userAgent, length }: { readonly userAgent: string; readonly length: number | undefined },
): Record<string, string> {
  const headers: Record<string, string> = { 'user-agent': userAgent, 'accept-encoding': 'identity' }
  for (const [name, value] of Object.entries(callerHeaders)) {
    const key = name.toLowerCase()
    if (!fieldName.test(key) || !fieldValue.test(value))
      throw refuseFetch('header holds characters that do not belong there')
    if (!ownHeaders.has(key)) headers[key] = value
  }
  if (length !== undefined) headers['content-length'] = String(length)
  return headers
}

export const changingMethods: ReadonlySet<string> = new Set(['POST', 'PUT', 'DELETE'])

/** Plans an exchange. `usual.maxBytes` applies if the request sets no limit. @throws Undeliverable as `readFetchHeaders` does */
export function planExchange(
  { method = 'GET', headers = {}, body, maxBytes, isRepeatable = method !== 'POST' }: FetchRequest,
  defaults: { readonly userAgent: string; readonly maxBytes: number },
): ExchangeRequest {
  const length = changingMethods.has(method) || body !== undefined ? Buffer.byteLength(body ?? '') : undefined
  const sentHeaders = readFetchHeaders(headers, { userAgent: defaults.userAgent, length })
  return { method, headers: sentHeaders, body, maxBytes: maxBytes ?? defaults.maxBytes, isRepeatable }
}

/** Returns the portable headers, without Authorization, Signature and all others that are meant for one origin. */
export function pickPortableHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => portableHeaders.has(name)))
}
