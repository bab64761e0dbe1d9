import { createHmac, timingSafeEqual } from 'node:crypto'
import { domainToUnicode } from 'node:url'
import type { AgentDirectory, ChannelContext } from '@postern/core'
import { Rejection, randomHex, toAsciiDomain } from '@postern/core'
import { readVisibleCharacters } from '@postern/markup/html'
import type { default as ParseAddresses } from 'nodemailer/lib/addressparser'
import { decodeWord } from '../text/encoded-word.ts'
import type { HeaderBlock } from './octets.ts'
import { fieldValues } from './octets.ts'
import type { AddressMac, AddressToken, HopMark, Unsubscription } from './read-tokens.ts'
import {
  findBounce,
  formatUnsubscription,
  isOwnHopField,
  readBounce,
  readReplyToken,
  readUnsubscription,
} from './read-tokens.ts'

/** One mailbox of an address field. */
export interface Mailbox {
  /** As written: nobody may change a foreign local part (RFC 5321 §2.4). */
  readonly local: string
  /** Lower-case A-labels. */
  readonly domain: string
  /** Decoded, without control characters. A name proves nothing. */
  readonly name?: string | undefined
}

export type AddressReader = (value: string) => ReturnType<typeof readAddressList>

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

/** `isDoubtful`: something in the field is a group, no address we can read, or could be read in two ways. */
function readAddressList(parse: typeof ParseAddresses, value: string) {
  const entries = parse(value)
  const flat = entries.flatMap(entry => ('address' in entry ? [entry] : entry.group))
  const mailboxes = flat.flatMap(({ address, name }): Mailbox[] => {
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

/** Fields a message may have once only (RFC 5322 §3.6, RFC 2045 §3). A second `From` is refused elsewhere. */
const onceOnlyFields = [
  'sender',
  'reply-to',
  'to',
  'cc',
  'date',
  'subject',
  'message-id',
  'in-reply-to',
  'references',
  'content-type',
  'content-transfer-encoding',
] as const

/** Names of once-only fields that are there more than once: never pick one of them. */
export function findRepeatedFields(block: HeaderBlock): string[] {
  return onceOnlyFields.filter(name => fieldValues(block, name).length > 1)
}

/** The parsed text after the `+` of an address. */
export interface ReadTag {
  readonly token?: AddressToken | undefined
  /** The peer's own tag, without the token. */
  readonly tag?: string | undefined
}

export type AddressTokens = ReturnType<typeof createAddressTokens>

interface ReplyPlan {
  readonly response: string
  /** The tag the message came with. */
  readonly tag?: string | undefined
  /** ms since the epoch. */
  readonly at: number
}

/** RFC 5321 §4.5.3.1.1 */
const maxLocal = 64
const dayMs = 24 * 3_600_000
/** How long an answer finds its thread by the address alone. */
const replyDays = 180

/** Another name for a response, short enough for an address. */
export function replyAlias(response: string): string {
  return `reply:${response.slice(0, 16)}`
}

export function createAddressTokens(key: string, domain: string) {
  const mac = createAddressMac(key)
  return {
    /** Envelope sender of one delivery (VERP); the plain address when a longer one would not fit. */
    bounceAddress(agent: string, delivery: string): string {
      const id = delivery.toLowerCase()
      const local = `${agent}+b.${id}.${mac.sign('bounce', agent, id, 20)}`
      return /^[0-9a-z]{1,20}$/.test(id) && local.length <= maxLocal ? `${local}@${domain}` : `${agent}@${domain}`
    },
    /** The address for answers to a response; undefined when it would not fit. */
    replyAddress(agent: string, { response, tag, at }: ReplyPlan): string | undefined {
      if (!/^[0-9a-f]{32}$/.test(response)) return undefined
      const until = Math.floor(at / dayMs) + replyDays
      const data = `${response.slice(0, 16)}${(until & 0xffff).toString(16).padStart(4, '0')}`
      const local = `${agent}${tag ? `+${tag}` : ''}+r.${data}${mac.sign('reply', agent, data, 12)}`
      return local.length <= maxLocal ? `${local}@${domain}` : undefined
    },
    /** `now` in ms. */
    readTag(agent: string, tag: string | undefined, now: number): ReadTag {
      if (tag === undefined) return {}
      const at = tag.lastIndexOf('+') + 1
      const last = tag.slice(at)
      const token = readToken(mac, agent, last, now)
      const rest = token ? tag.slice(0, Math.max(at - 1, 0)) : tag
      return { ...(token && { token }), ...(rest && { tag: rest }) }
    },
    /** A token for a bounce somewhere in a text, as complaints quote it. */
    findBounce: (agent: string, text: string) => findBounce(mac, agent, text),
    /** The header field that marks what this gateway sends. */
    formatHop: (agent: string, mark: HopMark, response: string) => formatHopField(mac, agent, mark, response),
    /** Whether this gateway wrote a header field of that name. */
    isOwnHop: (value: string) => isOwnHopField(mac, value),
    /** The text in the link by which a person ends unasked mail of an agent. */
    formatUnsubscription: (unsubscription: Unsubscription) => formatUnsubscription(mac, unsubscription),
    readUnsubscription: (agent: string, text: string) => readUnsubscription(mac, agent, text),
  }
}

/** The token in the last tag of an address; undefined when it is none, or too old. */
function readToken(mac: AddressMac, agent: string, text: string, now: number): AddressToken | undefined {
  const reply = readReplyToken(mac, agent, text, now)
  return reply === undefined ? readBounce(mac, agent, text) : { kind: 'reply', alias: replyAlias(reply) }
}

/** The header field on every mail that this gateway sends. */
export const hopField = 'X-Postern-Hop'

/** The field on a response of this agent, signed. */
function formatHopField(mac: AddressMac, agent: string, { hop, maxHops }: HopMark, response: string): string {
  const max = maxHops === undefined ? '' : ` max=${maxHops};`
  const signed = maxHops === undefined ? `${hop} ${response}` : `${hop}/${maxHops} ${response}`
  return `${agent}; hop=${hop};${max} id=${response}; mac=${mac.sign('hop', agent, signed, 32)}`
}

function createAddressMac(key: string): AddressMac {
  const sign: AddressMac['sign'] = (purpose, agent, data, digits) =>
    createHmac('sha256', key).update(`${purpose} ${agent} ${data}`).digest('hex').slice(0, digits)
  return {
    sign,
    isSigned(given, purpose, agent, data) {
      const [left, right] = [Buffer.from(given), Buffer.from(sign(purpose, agent, data, given.length))]
      return left.length > 0 && left.length === right.length && timingSafeEqual(left, right)
    },
  }
}

/** Opens the tokens of this gateway once; their key is made once and durable before the first use. */
export function createTokenKey({
  store,
  platform,
  agents,
}: Pick<ChannelContext, 'store' | 'platform' | 'agents'>): () => Promise<AddressTokens> {
  let opened: Promise<AddressTokens> | undefined
  const open = async () => {
    const key = await store.secret('email-address-tokens', async () => randomHex(platform, 32))
    return createAddressTokens(key, agents.domain)
  }
  return () => {
    opened ??= open()
    opened.catch(() => {
      opened = undefined
    })
    return opened
  }
}
