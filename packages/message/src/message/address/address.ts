// Parses and formats addresses of agents and people, `@local@domain`.

import { Rejection } from '../../format/errors.ts'
import { isHostLength, maxHostLength } from '../../format/web-url.ts'

/** An agent's or a person's address `@local@domain`, with both halves in lower case and the domain as A-labels. */
export interface Address {
  readonly local: string
  readonly domain: string
}

const localPattern = /^[a-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}$/i
/** The maximum length of a Unicode name, which may write a letter as a base character and its mark. */
const maxUnicodeName = 2 * maxHostLength
const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const labelPattern = new RegExp(`^${label}$`)
/** Matches names that need no conversion: in lower case, without A-labels, and with a letter first in the last label. */
const plainDomainPattern = new RegExp(`^(?:(?!xn--)${label}\\.)+(?![0-9]|xn--)${label}$`)

/**
 * Reads `@a@d.tld`, `a@d.tld` or `acct:a@d.tld`. The domain needs two labels; Unicode names become A-labels.
 * @throws Rejection `malformed`
 */
export function parseAddress(text: string): Address {
  const address = parseIfAddress(text)
  if (!address) throw new Rejection('malformed', 'Cannot read address: expected "@name@domain.tld"')
  return address
}

/** Reads an address; returns undefined for a text that is not one. */
export function parseIfAddress(text: string): Address | undefined {
  const withoutPrefix = text.replace(/^acct:/i, '').replace(/^@/, '')
  const at = withoutPrefix.indexOf('@')
  const local = withoutPrefix.slice(0, at)
  const domain = at > 0 ? toAsciiDomain(withoutPrefix.slice(at + 1)) : undefined
  return domain && localPattern.test(local) ? { local: local.toLowerCase(), domain } : undefined
}

/** Formats an address as people and protocols write it, `@local@domain`. */
export function formatAddress({ local, domain }: Address): string {
  return `@${local}@${domain}`
}

/** Returns a DNS name of two or more labels in lower-case A-label form, or undefined if `name` is not one. */
export function toAsciiDomain(name: string): string | undefined {
  if (plainDomainPattern.test(name) && isHostLength(name)) return name
  if (!name || name.length > maxUnicodeName || /[\s/?#@:\\[\]%]/.test(name)) return undefined
  const host = URL.parse(`https://${name}/`)?.hostname.replace(/\.$/, '') ?? ''
  const labels = host.split('.')
  const isName =
    labels.length > 1 && labels.every(label => labelPattern.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '')
  return isName && isHostLength(host) ? host : undefined
}
