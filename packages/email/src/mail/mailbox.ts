// Parses and formats mailboxes as `local@domain`.

import { domainToUnicode } from 'node:url'
import { toAsciiDomain } from '@postern/message'

/** A mailbox of an address field. */
export interface Mailbox {
  /** The local part as its writer spelled it: nobody may change a foreign local part (RFC 5321 §2.4). */
  readonly local: string
  /** The domain in lower-case A-labels. */
  readonly domain: string
  /** The decoded name without control characters. A name proves nothing. */
  readonly name?: string | undefined
}

/**
 * A dot-atom (RFC 5322 §3.2.3) with the letters of RFC 6531. A quoted local part does not match, because such local
 * parts mostly serve to deceive.
 */
const localPattern = /^[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~.-]{1,64}$/u

/** Formats a mailbox as `local@domain`, the form on the wire. */
export function formatMailbox({ local, domain }: Pick<Mailbox, 'local' | 'domain'>): string {
  return `${local}@${domain}`
}

/** Parses `local@domain` without name or brackets. It returns undefined if the text is not a mailbox. */
export function parseMailbox(text: string): Mailbox | undefined {
  const index = text.lastIndexOf('@')
  const local = text.slice(0, Math.max(index, 0))
  const domain = index > 0 ? toAsciiDomain(text.slice(index + 1).replace(/\.$/, '')) : undefined
  if (!domain || hasInvalidALabel(domain)) return undefined
  return localPattern.test(local) ? { local: local.normalize('NFC'), domain } : undefined
}

/**
 * Returns true if a domain has an A-label that encodes no letters (RFC 5890 §2.3.2.1). Programs show such a label literally
 * or in their own way.
 */
function hasInvalidALabel(domain: string): boolean {
  return (
    domain.includes('xn--') &&
    domainToUnicode(domain)
      .split('.')
      .some(label => label.startsWith('xn--'))
  )
}
