// Reads address fields (RFC 5322 §3.4) into mailboxes.
import type ParseAddresses from 'nodemailer/lib/addressparser'
import { decodeHeaderText } from './header-text.ts'
import type { Mailbox } from './mailbox.ts'
import { parseMailbox } from './mailbox.ts'

export type AddressReader = (value: string) => ReturnType<typeof readAddressList>

/** Loads the one address parser of the gateway. */
export async function openAddressReader(): Promise<AddressReader> {
  const { default: parse } = await import('nodemailer/lib/addressparser')
  return value => readAddressList(parse, value)
}

/** Returns an upper bound of the entries in an address field, without parsing it. */
export function countMaxEntries(value: string): number {
  let count = 1
  for (const char of value) if (char === ',' || char === ';' || char === ':' || char === '<') count += 1
  return count
}

/**
 * Reads the mailboxes of one field. `isDoubtful` is true if the field has a group, an unreadable address, or an address
 * that can be read in two ways.
 */
function readAddressList(parse: typeof ParseAddresses, value: string) {
  const entries = parse(value)
  const addresses = entries.flatMap(entry => ('address' in entry ? [entry] : entry.group))
  const mailboxes = addresses.flatMap(({ address, name }): Mailbox[] => {
    const mailbox = parseMailbox(address ?? '')
    const displayName = decodeHeaderText(name ?? '').slice(0, 200)
    return mailbox ? [{ ...mailbox, ...(displayName && { name: displayName }) }] : []
  })
  const hasGroup = entries.some(entry => !('address' in entry))
  // The parser drops control characters, but another program may stop at them.
  const hasControls = /(?!\t)\p{Cc}/u.test(value)
  const hasAddressInName = !value.includes('<') && addresses.some(({ name }) => name?.includes('@'))
  return { mailboxes, isAmbiguous: hasGroup || hasControls || hasAddressInName || mailboxes.length < addresses.length }
}

/** The mailboxes in the address fields of a message. */
export interface MailAddresses {
  /** The one From mailbox. */
  readonly author: Mailbox
  readonly replyTo: readonly Mailbox[]
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
}
