import { domainToUnicode } from 'node:url'
import { Rejection, toAsciiDomain } from '@postern/core'
import type { default as ParseAddresses } from 'nodemailer/lib/addressparser'
import { decodeHeaderText } from '../text/encoded-words.ts'

/** One mailbox of an address field. */
export interface Mailbox {
  /** As written: nobody may change a foreign local part (RFC 5321 §2.4). */
  readonly local: string
  /** Lower-case A-labels. */
  readonly domain: string
  /** Decoded, without control characters. A name proves nothing. */
  readonly name?: string | undefined
}

/** One address field, read. */
interface AddressList {
  readonly mailboxes: readonly Mailbox[]
  /** Something in the field is a group, no address we can read, or could be read in two ways. */
  readonly isDoubtful: boolean
}

export type AddressReader = (value: string) => AddressList

/** dot-atom (RFC 5322 §3.2.3) with the letters of RFC 6531; quoted local parts are only ever used to deceive. */
const localPattern = /^[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~.-]{1,64}$/u

/** A From field of one mailbox, with room for a long encoded name. */
const maxAuthor = 4096

/** Loads the one address parser of the gateway. */
export async function openAddressReader(): Promise<AddressReader> {
  const { default: parse } = await import('nodemailer/lib/addressparser')
  return value => readAddressList(parse, value)
}

/** `local@domain` as it goes on the wire. */
export function formatMailbox({ local, domain }: Pick<Mailbox, 'local' | 'domain'>): string {
  return `${local}@${domain}`
}

/** Reads `local@domain` without name or brackets; undefined when it is none. */
export function parseMailbox(text: string): Mailbox | undefined {
  const at = text.lastIndexOf('@')
  const local = text.slice(0, Math.max(at, 0))
  const domain = at > 0 ? toAsciiDomain(text.slice(at + 1).replace(/\.$/, '')) : undefined
  if (!domain || hasBrokenLabel(domain)) return undefined
  return localPattern.test(local) ? { local: local.normalize('NFC'), domain } : undefined
}

/** An A-label without letters behind it (RFC 5890 §2.3.2.1): programs show it literally, or as they like. */
function hasBrokenLabel(domain: string): boolean {
  return (
    domain.includes('xn--') &&
    domainToUnicode(domain)
      .split('.')
      .some(label => label.startsWith('xn--'))
  )
}

/** The maximum of entries that a parser may find in an address field, counted without parsing it. */
export function countEntries(value: string): number {
  let count = 1
  for (const octet of value) if (octet === ',' || octet === ';' || octet === ':' || octet === '<') count += 1
  return count
}

/**
 * The one author of a message: exactly one `From` field with exactly one mailbox (RFC 9989 §5.3.1 has no verdict
 * otherwise).
 * @throws Rejection `malformed`
 */
export function readAuthor(fromFields: readonly string[], readAddresses: AddressReader): Mailbox {
  if (fromFields.length > 1) throw new Rejection('malformed', 'Cannot read mail: more than one From')
  const value = fromFields[0]
  if (!value) throw new Rejection('malformed', 'Cannot read mail: no From')
  if (value.length > maxAuthor) throw new Rejection('malformed', 'Cannot read mail: From is too long')
  const { mailboxes, isDoubtful } = readAddresses(value)
  if (mailboxes.length > 1) throw new Rejection('malformed', 'Cannot read mail: more than one mailbox in From')
  const author = mailboxes[0]
  if (!author || isDoubtful || !hasOneReading(value))
    throw new Rejection('malformed', 'Cannot read mail: From is not one plain mailbox')
  return author
}

/**
 * Outside of quotes and comments at most one `<…>`, and nothing after it. With two, some programs take the first and
 * some the last, and a provider's verdict on one says nothing about the other.
 */
function hasOneReading(value: string): boolean {
  const bare = value.replace(/"(?:[^"\\]|\\.)*"/g, ' ').replace(/\((?:[^()<>@"\\]|\\.)*\)/g, ' ')
  return /^[^<>"()]*(?:<[^<>"()]*>[\s,]*)?$/.test(bare)
}

function readAddressList(parse: typeof ParseAddresses, value: string): AddressList {
  const entries = parse(value)
  const flat = entries.flatMap(entry => ('address' in entry ? [entry] : entry.group))
  const mailboxes = flat.flatMap(({ address, name }) => {
    const mailbox = parseMailbox(address ?? '')
    const readable = decodeHeaderText(name ?? '').slice(0, 200)
    return mailbox ? [{ ...mailbox, ...(readable && { name: readable }) }] : []
  })
  const hasGroup = entries.some(entry => !('address' in entry))
  // The parser drops control characters, another may stop at them.
  const hasControls = /(?!\t)\p{Cc}/u.test(value)
  const isLoose = !value.includes('<') && flat.some(({ name }) => name?.includes('@'))
  return { mailboxes, isDoubtful: hasGroup || hasControls || isLoose || mailboxes.length < flat.length }
}
