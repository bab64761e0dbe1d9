// Checks the URLs of fetches without DNS, and chooses the route to each of them.
import { isIP } from 'node:net'
import type { ParsedUrl } from '@postern/message'
import { ConfigError, isHostLength, maxUrlLength, parseUrl } from '@postern/message'
import { isPublicAddress } from '../address/public-address.ts'
import { refuseFetch } from '../address/refuse-fetch.ts'
import type { UrlGuard } from './exchange.ts'

/** The addresses that the operator opens on purpose. */
export interface UrlGuardOptions {
  /** Exact origins (scheme, host and port) whose private addresses are allowed. Only these may be `http:`. */
  readonly allowPrivate?: readonly string[] | undefined
  /** The ports of 127.0.0.1 by host: `https://host/…` is sent as plain HTTP to that port. For development only. */
  readonly loopback?: Readonly<Record<string, number>> | undefined
}

/** WHATWG parsing drops or converts these characters, so two readers could see two addresses. */
const forbiddenCharPattern = /[\p{Cc}\\]/u
const absoluteUrlPattern = /^[a-z][a-z0-9+.-]*:\/\//i
const labelPattern = /^[a-z0-9_-]{1,63}$/
/** The private zones of RFC 6761, RFC 6762 and RFC 8375, and the name that ICANN reserved for private use. */
const privateZonePattern = /\.(localhost|local|internal|home\.arpa)$/

/**
 * Checks a URL without DNS: it must have https, port 443, no credentials, and a host that can be public in every spelling. Returns the URL in its
 * normal form, with A-labels and without a trailing dot or a fragment.
 * @throws Undeliverable
 */
export function checkFetchUrl(url: string, options: UrlGuardOptions = {}): ParsedUrl {
  return createUrlGuard(options)(url).url
}

/**
 * Reads the options once. The returned guard throws `Undeliverable`.
 * @throws ConfigError
 */
export function createUrlGuard({ allowPrivate = [], loopback = {} }: UrlGuardOptions): UrlGuard {
  const allowedOrigins = new Set(allowPrivate.map(readOrigin))
  const ports = new Map(Object.entries(loopback).map(parseLoopbackEntry))
  return text => {
    const url = normalizeUrl(text)
    const port = ports.get(url.origin)
    if (port !== undefined) return { url, isPrivateAllowed: true, isSecure: false, host: '127.0.0.1', port }
    const isPrivateAllowed = allowedOrigins.has(url.origin)
    if (!isPrivateAllowed) checkPublicUrl(url)
    const isSecure = url.protocol === 'https:'
    return {
      url,
      isPrivateAllowed: isPrivateAllowed,
      isSecure,
      host: stripBrackets(url),
      port: Number(url.port) || (isSecure ? 443 : 80),
    }
  }
}

/** Normalizes a URL, so that decimal, octal, hexadecimal, short and Unicode spellings of a host become one form (WHATWG URL §3.5). */
function normalizeUrl(text: string): ParsedUrl {
  if (text.length > maxUrlLength) throw refuseFetch('URL is too long')
  if (forbiddenCharPattern.test(text)) throw refuseFetch('URL contains a control character or a backslash')
  if (!absoluteUrlPattern.test(text)) throw refuseFetch('not an absolute URL')
  const parsedUrl = parseUrl(text)
  if (!parsedUrl) throw refuseFetch(URL.canParse(text) ? 'URL is too long' : 'not an absolute URL')
  if (parsedUrl.username || parsedUrl.password) throw refuseFetch('URL contains credentials')
  if (!parsedUrl.hostname.endsWith('.') && !parsedUrl.href.includes('#')) return parsedUrl
  const url = new URL(parsedUrl.href)
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1)
  url.hash = ''
  return url
}

function checkPublicUrl(url: ParsedUrl): void {
  if (url.protocol !== 'https:') throw refuseFetch('scheme is not https')
  if (url.port) throw refuseFetch('port is not 443')
  const host = stripBrackets(url)
  if (isIP(host) ? !isPublicAddress(host) : !isPublicName(host)) throw refuseFetch('address is not public')
}

function isPublicName(host: string): boolean {
  if (!isHostLength(host)) return false
  const labels = host.split('.')
  const isName = labels.length > 1 && labels.every(label => labelPattern.test(label))
  return isName && !privateZonePattern.test(host)
}

function stripBrackets({ hostname }: ParsedUrl): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

function readOrigin(text: string): string {
  const url = URL.parse(text)
  if (url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url.origin
  throw new ConfigError(
    'network.allow_private',
    `"${text}" is not an origin`,
    'Write scheme, host and port, like "http://127.0.0.1:8080".',
  )
}

function parseLoopbackEntry([host, port]: readonly [string, number]): readonly [string, number] {
  const url = URL.parse(`https://${host}`)
  const isPort = Number.isInteger(port) && port > 0 && port < 65_536
  if (url && isPort && url.href === `${url.origin}/` && !url.port) return [url.origin, port]
  throw new ConfigError(
    'network.loopback',
    `"${host}": ${port} is not a host and a port`,
    'Write entries like "mastodon.test": 9001.',
  )
}
