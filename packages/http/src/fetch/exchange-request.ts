// Creates the request of an exchange: its headers, its length and whether a repetition is safe.

import type { FetchRequest } from '@postern/message'
import { refuseFetch } from '../address/refuse-fetch.ts'
import type { ExchangeRequest } from './exchange.ts'

/** The headers that the exchange sets itself, so that a caller's values are left out. Cookies are never sent. */
const exchangeHeaderNames = new Set([
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
const portableHeaderNames = new Set(['accept', 'accept-encoding', 'accept-language', 'user-agent'])

const fieldNamePattern = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
const fieldValuePattern = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * Returns the header fields to send: those of the caller with names in lower case, and those of the exchange itself.
 * @throws Undeliverable for a name or value that would break its line (RFC 9110 §5.5)
 */
function composeHeaders(
  callerHeaders: Readonly<Record<string, string>>,
  { userAgent, length }: { readonly userAgent: string; readonly length: number | undefined },
): Record<string, string> {
  const headers: Record<string, string> = { 'user-agent': userAgent, 'accept-encoding': 'identity' }
  for (const [name, value] of Object.entries(callerHeaders)) {
    const key = name.toLowerCase()
    if (!fieldNamePattern.test(key) || !fieldValuePattern.test(value))
      throw refuseFetch('header holds characters that do not belong there')
    if (!exchangeHeaderNames.has(key)) headers[key] = value
  }
  if (length !== undefined) headers['content-length'] = String(length)
  return headers
}

export const changingMethods: ReadonlySet<string> = new Set(['POST', 'PUT', 'DELETE'])

/**
 * Creates the request of an exchange. `defaults.maxBytes` applies if the request sets no limit.
 * @throws Undeliverable as `composeHeaders` does
 */
export function createExchangeRequest(
  { method = 'GET', headers = {}, body, maxBytes, isRepeatable = method !== 'POST' }: FetchRequest,
  defaults: { readonly userAgent: string; readonly maxBytes: number },
): ExchangeRequest {
  const length = changingMethods.has(method) || body !== undefined ? Buffer.byteLength(body ?? '') : undefined
  const sentHeaders = composeHeaders(headers, { userAgent: defaults.userAgent, length })
  return { method, headers: sentHeaders, body, maxBytes: maxBytes ?? defaults.maxBytes, isRepeatable }
}

/** Returns the headers that may follow a redirect to another origin, without Authorization, Signature and others for one origin. */
export function pickPortableHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => portableHeaderNames.has(name)))
}
