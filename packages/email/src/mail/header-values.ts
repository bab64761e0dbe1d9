import { domainToUnicode } from 'node:url'
import type { AgentDirectory } from '@postern/core'
import { Rejection, toAsciiDomain } from '@postern/core'
import { readVisibleCharacters } from '@postern/markup/html'
import type { default as ParseAddresses } from 'nodemailer/lib/addressparser'
import { decodeWord } from '../text/encoded-word.ts'

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

/** The address fields of a message, read once. */
export interface MailAddresses {
  /** The one From mailbox. */
  readonly author: Mailbox
  readonly replyTo: readonly Mailbox[]
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
}

/** The agent behind `agent+tag@domain`, whatever its case; undefined when there is no such agent here (EM-4.3). */
export function findRecipient(address: string, agents: AgentDirectory): AddressedAgent | undefined {
  const bare = address.trim().replace(/^<|>$/g, '')
  const at = bare.lastIndexOf('@')
  if (at <= 0 || !isDomain(bare.slice(at + 1), agents.domain)) return undefined
  const [local = '', ...tag] = bare.slice(0, at).normalize('NFC').split('+')
  const profile = agents.find(local.toLowerCase())
  return profile && { agent: profile.name, ...(tag.length > 0 && { tag: tag.join('+').slice(0, 128) }) }
}

/** Every agent named, once. */
export function findRecipients(addresses: readonly string[], agents: AgentDirectory): AddressedAgent[] {
  const found = addresses.flatMap(address => findRecipient(address, agents) ?? [])
  return [...new Map(found.map(recipient => [recipient.agent, recipient])).values()]
}

function isDomain(text: string, domain: string): boolean {
  return text === domain || toAsciiDomain(text.replace(/\.$/, '')) === domain
}

/** One of our agents, as an envelope recipient named it. */
export interface AddressedAgent {
  /** The agent's name. */
  readonly agent: string
  /** The text after the `+` of the address. */
  readonly tag?: string | undefined
}

const wordPattern = /=\?([!-)+-<>@-Z^-~]{1,40})\?([bq])\?([!->@-~]*)\?=/gi
const between = /(\?=)[ \t]+(?==\?)/g
/** No program reads more than this; RFC 2047 allows 75 characters a word. */
const maxWords = 2000

/**
 * The text of a header value with encoded words (RFC 2047): control characters become spaces, and invisible ones
 * disappear.
 */
export function decodeHeaderText(value: string): string {
  return readVisibleCharacters(withoutControls(decodeWords(value))).text.trim()
}

/** Whether a header value has invisible characters that can carry words for machines. */
export function hidesInHeader(value: string): boolean {
  const text = withoutControls(decodeWords(value))
  return readVisibleCharacters(text).text !== text
}

function decodeWords(value: string): string {
  if (!value.includes('=?')) return value
  let words = 0
  return value.replace(between, '$1').replace(wordPattern, (word, charset: string, encoding: string, data: string) => {
    words += 1
    return words > maxWords ? word : decodeWord(word, charset, encoding, data)
  })
}

/** Text that is safe in one header line: controls, line ends and direction overrides become single spaces. */
export function withoutControls(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim()
}

/** Marks of answers, also those of other languages and counting ones (`RE[2]:`). */
const answerMark =
  /^\s*(?:re|aw|sv|antw|rif|odp|vs|ref|res|r|回复|回覆|答复|返信|답장|회신|отв|ответ)(?:\s?\[\d{1,3}\]|\s?\(\d{1,3}\))?\s*[:：]\s*/iu
/** Marks of what is passed on. `VS` is an answer in Finnish and passed on in Danish: nothing is cut from either. */
const forwardMark =
  /^\s*(?:\[[^\]]{0,60}\]\s*)?(?:fwd?|fw|wg|tr|trs|rv|enc|i|vb|vs|vl|pd|fs|ilt|i̇lt|iletilen|doorst|doorgestuurd|videresendt|vidarebefordrat|továbbítás|továbbítva|přep|πρθ|προωθ|пересл|переслано|пересылка|הועבר|إعادة توجيه|转发|轉寄|轉發|転送|전달|ส่งต่อ)(?:\s?\[\d{1,3}\]|\s?\(\d{1,3}\))?\s*[:：]/iu

/** The subject of an answer: one `Re:`, whatever was there before. */
export function replySubject(subject: string): string {
  let bare = withoutControls(subject)
  for (let mark = answerMark.exec(bare); mark; mark = answerMark.exec(bare)) bare = bare.slice(mark[0].length)
  return `Re: ${bare || '(no subject)'}`
}

/** Does the subject say that the mail passes another one on? @param field as it came, with encoded words (RFC 2047) */
export function isForwardSubject(field: string): boolean {
  return forwardMark.test(decodeHeaderText(field.slice(0, 2000)))
}
