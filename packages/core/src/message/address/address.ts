import { Rejection } from '../../format/errors.ts'
import { isHostLength, maxHostLength, parseUrl } from '../../format/web-url.ts'

/** An agent's or person's address `@local@domain`; both halves lower case, the domain as A-labels. */
export interface Address {
  readonly local: string
  readonly domain: string
}

const localPattern = /^[a-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}$/i
/** A letter may be written as itself and its mark. */
const maxUnicodeName = 2 * maxHostLength
const labelPattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Reads `@a@d.tld`, `a@d.tld` or `acct:a@d.tld`. The domain needs two labels; Unicode names become A-labels.
 * @throws Rejection `malformed`
 */
export function parseAddress(text: string): Address {
  const bare = text.replace(/^acct:/i, '').replace(/^@/, '')
  const at = bare.indexOf('@')
  const local = bare.slice(0, at)
  const domain = at > 0 ? toAsciiDomain(bare.slice(at + 1)) : undefined
  if (!domain || !localPattern.test(local)) {
    throw new Rejection('malformed', 'Cannot read address: expected "@name@domain.tld"')
  }
  return { local: local.toLowerCase(), domain }
}

/** The address as people and protocols write it, `@local@domain`. */
export function formatAddress({ local, domain }: Address): string {
  return `@${local}@${domain}`
}

/** A DNS name of two or more labels in lower-case A-label form, or undefined when `name` is none. */
export function toAsciiDomain(name: string): string | undefined {
  if (!name || name.length > maxUnicodeName || /[\s/?#@:\\[\]%]/.test(name)) return undefined
  let host: string
  try {
    host = new URL(`https://${name}/`).hostname.replace(/\.$/, '')
  } catch {
    return undefined
  }
  const labels = host.split('.')
  const isName =
    labels.length > 1 && labels.every(label => labelPattern.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '')
  return isName && isHostLength(host) ? host : undefined
}

/** The host that a delivery to `to` connects to; undefined where many places share one way out (mail, handed to a smarthost). */
export function findDestinationHost(to: string): string | undefined {
  return /^https?:/i.test(to) ? parseUrl(to)?.host : undefined
}
