import { BlockList, isIP } from 'node:net'
import { ConfigError, isHostLength, maxUrlLength, parseUrl, Undeliverable } from '@postern/core'

/** What the operator opens on purpose. */
export interface UrlGuardOptions {
  /** Exact origins (scheme, host and port) whose private addresses are allowed. Only these may be `http:`. */
  readonly allowPrivate?: readonly string[] | undefined
  /** Host → port: `https://host/…` is sent as plain HTTP to that port of 127.0.0.1. For development only. */
  readonly loopback?: Readonly<Record<string, number>> | undefined
}

/** A checked URL with its route. */
export interface Route {
  readonly url: URL
  /** Whether the operator opened its origin, so that its addresses need not be public. */
  readonly isOpened: boolean
  readonly secure: boolean
  /** A name, or an IP literal without brackets. */
  readonly host: string
  readonly port: number
}

export type UrlGuard = (url: string) => Route

/** WHATWG parsing drops or converts these characters, so two readers could see two addresses. */
const notInUrl = /[\p{Cc}\\]/u
const absolute = /^[a-z][a-z0-9+.-]*:\/\//i
const label = /^[a-z0-9_-]{1,63}$/
/** RFC 6761, RFC 6762, RFC 8375 and the name that ICANN reserved for private use. */
const privateZones = /\.(localhost|local|internal|home\.arpa)$/

/**
 * The check without DNS: https, port 443, no credentials, and a host that can be public in every spelling. @returns the URL in its normal
 * form: A-labels, no trailing dot, no fragment @throws Undeliverable
 */
export function checkFetchUrl(url: string, options: UrlGuardOptions = {}): URL {
  return createUrlGuard(options)(url).url
}

/** Reads the options once. The returned guard throws `Undeliverable`. @throws ConfigError */
export function createUrlGuard({ allowPrivate = [], loopback = {} }: UrlGuardOptions): UrlGuard {
  const opened = new Set(allowPrivate.map(readOrigin))
  const ports = new Map(Object.entries(loopback).map(readLoopback))
  return text => {
    const url = normalizeUrl(text)
    const port = ports.get(url.origin)
    if (port !== undefined) return { url, isOpened: true, secure: false, host: '127.0.0.1', port }
    const isOpened = opened.has(url.origin)
    if (!isOpened) checkPublicUrl(url)
    const secure = url.protocol === 'https:'
    return { url, isOpened, secure, host: bareHost(url), port: Number(url.port) || (secure ? 443 : 80) }
  }
}

export function refuseFetch(problem: string, options?: ErrorOptions): Undeliverable {
  return new Undeliverable(`Cannot fetch: ${problem}`, options)
}

/** Decimal, octal, hexadecimal, short and Unicode spellings of a host have one form after this (WHATWG URL §3.5). */
function normalizeUrl(text: string): URL {
  if (text.length > maxUrlLength) throw refuseFetch('URL is too long')
  if (notInUrl.test(text)) throw refuseFetch('URL holds characters that do not belong there')
  if (!absolute.test(text) || !URL.canParse(text)) throw refuseFetch('not an absolute URL')
  const url = parseUrl(text)
  if (!url) throw refuseFetch('URL is too long')
  if (url.username || url.password) throw refuseFetch('URL holds credentials')
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1)
  url.hash = ''
  return url
}

function checkPublicUrl(url: URL): void {
  if (url.protocol !== 'https:') throw refuseFetch('scheme is not https')
  if (url.port) throw refuseFetch('port is not 443')
  const host = bareHost(url)
  if (isIP(host) ? !isPublicAddress(host) : !isPublicName(host)) throw refuseFetch('address is not public')
}

function isPublicName(host: string): boolean {
  if (!isHostLength(host)) return false
  const labels = host.split('.')
  const isName = labels.length > 1 && labels.every(part => label.test(part))
  return isName && !privateZones.test(host)
}

function bareHost({ hostname }: URL): string {
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

function readLoopback([host, port]: readonly [string, number]): readonly [string, number] {
  const url = URL.parse(`https://${host}`)
  const isPort = Number.isInteger(port) && port > 0 && port < 65_536
  if (url && isPort && url.href === `${url.origin}/` && !url.port) return [url.origin, port]
  throw new ConfigError(
    'network.loopback',
    `"${host}": ${port} is not a host and a port`,
    'Write entries like "mastodon.test": 9001.',
  )
}

/** Addresses outside the ordinary unicast space of the public Internet (RFC 6890 and the IANA special-purpose registries). */
const specialIPv4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
] as const

/** The only global unicast space (RFC 4291 §2.4). Mapped, NAT64, ULA, link-local and multicast addresses are outside. */
const globalIPv6 = ['2000::/3'] as const

/** Ranges inside 2000::/3 that are not public: protocol assignments with Teredo and ORCHID, documentation, 6to4. */
const specialIPv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'] as const

const blocks = {
  special4: listBlocks('ipv4', specialIPv4),
  global6: listBlocks('ipv6', globalIPv6),
  special6: listBlocks('ipv6', specialIPv6),
}

/** True for a public address in its canonical text form; false for anything else. */
export function isPublicAddress(ip: string): boolean {
  if (ip.includes('%')) return false
  const family = isIP(ip)
  if (family === 4) return !blocks.special4.check(ip, 'ipv4')
  return family === 6 && blocks.global6.check(ip, 'ipv6') && !blocks.special6.check(ip, 'ipv6')
}

function listBlocks(family: 'ipv4' | 'ipv6', ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', prefix = ''] = range.split('/')
    list.addSubnet(network, Number(prefix), family)
  }
  return list
}
