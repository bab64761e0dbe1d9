import { createHash } from 'node:crypto'
import { htmlToText, readVisibleCharacters } from '@postern/markup/html'
import type { Attachment, ParsedMail } from 'mailparser'
import type { ChainReport } from '../authenticate/arc-chain.ts'
import { readCalendar } from '../body/calendar.ts'
import type { MailBody, MailDetails, MailFile } from '../body/mail-body.ts'
import { mailReading, replyReading, trimReply } from '../body/reply-trim.ts'
import { holdsForward } from '../body/reply-words.ts'
import type { MailLimits } from '../config/limits.ts'
import type { createKeyReader } from '../dkim/signature.ts'
import type { SignatureReport, TxtAnswer } from '../dkim/verify.ts'
import { toCrlf, verifySignatures } from '../dkim/verify.ts'
import type { HeaderBlock, HeaderField } from '../mail/scan.ts'
import { findField, scanHeaders, toBuffer, withoutRanges } from '../mail/scan.ts'
import { safeFileName } from '../text/file-name.ts'
import type { UnsignedStructure } from './unsigned-structure.ts'

/** Everything heavy about one message, done in a thread that may be killed. It has no way out: DNS is settled before. */
export interface MimeJob {
  readonly octets: Uint8Array
  /** Answers for `selector._domainkey.domain`. */
  readonly keys: Readonly<Record<string, TxtAnswer>>
  /** ms since the epoch */
  readonly now: number
  /** Offsets of header fields that are left out of the judgement (signatures beyond the cap). */
  readonly ignored: readonly (readonly [start: number, end: number])[]
  /** Its signatures, where they were verified before. */
  readonly signatures?: readonly SignatureReport[] | undefined
  /** Whether there is an ARC chain to verify. */
  readonly isSealed?: boolean | undefined
  /** A trusted third party proves the author, whatever the signature says here. */
  readonly isVouched?: boolean | undefined
  /** A signature covers the body, and not how it is put together. */
  readonly isLoose?: boolean | undefined
  /** Forwarded mail keeps what it quotes. */
  readonly keepsQuotes: boolean
}

export interface MimeResult {
  readonly signatures: readonly SignatureReport[]
  readonly chain?: ChainReport | undefined
  readonly body: MailBody
}

export interface ReadingDeps {
  readonly limits: MailLimits
  readonly readKey: ReturnType<typeof createKeyReader>
}

/**
 * The message of a job with CRLF line ends and limits for it, without what is not judged, and its signatures. `scanned`
 * is the header of the octets that came, where it is known.
 */
export function verifyJob(job: MimeJob, { limits, readKey }: ReadingDeps, scanned?: HeaderBlock) {
  // The limits hold on the octets that came; CRLF for LF makes them longer.
  const widened = { ...limits, header_bytes: limits.header_bytes * 2, field_bytes: limits.field_bytes * 2 }
  const whole = toBuffer(job.octets)
  const octets = toCrlf(withoutRanges(whole, job.ignored))
  const header = octets === whole && scanned ? scanned : scanHeaders(octets, widened)
  const signatures = job.signatures ?? verifySignatures({ octets, header }, { ...job, readKey })
  return { octets, header, signatures, limits: widened }
}

/**
 * Whether the body is proven and its structure is not. Without a valid signature nothing promises that all of the body
 * is visible.
 */
export function hasLooseStructure(
  { isLoose, isVouched }: MimeJob,
  { signatures, chain }: { readonly signatures: readonly SignatureReport[]; readonly chain?: ChainReport | undefined },
): boolean {
  const hasProof = chain?.result === 'pass' || signatures.some(({ fault }) => fault === undefined)
  return isLoose === true && (isVouched === true || hasProof)
}

export interface BodyOptions {
  /** A forwarding is about what it quotes. */
  readonly keepsQuotes: boolean
  /** The fields that give the structure of the body are unsigned, and the body is signed. */
  readonly isLoose: boolean
  readonly limits: MailLimits
}

export type ReadBody = Omit<MailBody, 'digest'>

/** No mail to an agent has more invitations than this. */
const maxEvents = 5

interface ParsedTexts extends Pick<ParsedMail, 'attachments'> {
  readonly text?: string | undefined
  readonly html?: string | false | undefined
}

/** The body of a message whose texts and files were found. */
export function finishBody(
  mail: ParsedTexts,
  header: HeaderBlock,
  structure: UnsignedStructure | undefined,
  options: BodyOptions,
): ReadBody {
  const read = readParsed(mail, header, options)
  return structure ? noteStructure(read, mail, structure) : read
}

/** Whether a field says how the body is put together. */
export function isOfBody({ name }: HeaderField): boolean {
  return name.startsWith('content-') || name === 'mime-version'
}

/** HTML that may have been made of a plain text hides what the text shows. */
function noteStructure(read: ReadBody, { html }: ParsedTexts, structure: UnsignedStructure): ReadBody {
  const source = structure.keepsSource && html ? keepText(html, 'html_source') : []
  const flags = structure.isIgnored ? [...read.flags, 'unsigned_structure'] : read.flags
  return { ...read, files: [...read.files, ...source], flags }
}

export function emptyBody(flag: string): ReadBody {
  return { text: '', files: [], details: {}, flags: [flag] }
}

function readParsed(mail: ParsedTexts, header: HeaderBlock, options: BodyOptions): ReadBody {
  const { limits } = options
  const read = readMailText(mail, options)
  const attachments = mail.attachments.slice(0, limits.attachments)
  const files = attachments.map(readFile)
  const types = mail.attachments.map(each => ({ type: fullTypeOf(each), name: each.filename }))
  const flags = [
    ...read.flags,
    ...findSecurityFlags({ header, files: types, text: read.text }),
    ...(mail.attachments.length > files.length ? ['attachments_dropped'] : []),
  ]
  const texts = [keepText(read.fullText, 'full_text'), keepText(read.htmlText, 'html_text')].flat()
  return { text: read.text, files: [...files, ...texts], details: listDetails(read, attachments, files), flags }
}

/** The content type with the parameters that distinguish kinds of S/MIME. */
function fullTypeOf({ contentType, headers }: Attachment): string {
  const field = headers.get('content-type')
  const params = typeof field === 'object' && 'params' in field ? (field.params as Record<string, string>) : {}
  const kind = params['smime-type']
  return kind ? `${contentType}; smime-type=${kind}` : contentType
}

function listDetails(read: MailText, attachments: readonly Attachment[], files: readonly MailFile[]): MailDetails {
  const calendars = attachments.filter(({ contentType }) => /^text\/calendar$/i.test(contentType)).slice(0, maxEvents)
  const calendar = calendars.flatMap(({ content }) => readCalendar(content) ?? [])
  const names = attachments.flatMap(({ filename }, index) => {
    const safe = files[index]?.name
    const written = withoutTags(filename ?? '').slice(0, 1000)
    return written && safe && written !== safe ? [[safe, written]] : []
  })
  return {
    ...(read.invisible > 0 && { invisible_characters: read.invisible }),
    ...(calendar.length > 0 && { calendar }),
    ...(names.length > 0 && { file_names: Object.fromEntries(names) }),
  }
}

/** The invisible characters that can spell words; the others show how a name deceives. */
function withoutTags(name: string): string {
  return name.replace(/[\u{e0000}-\u{e007f}]|[\u{e0100}-\u{e01ef}]/gu, '')
}

/** Beside the newest text, but not in it: stored once, and not handed on again with every later message. */
function keepText(text: string | undefined, role: NonNullable<MailFile['role']>): MailFile[] {
  if (text === undefined) return []
  const bytes = Buffer.from(text)
  const name = `${role.replace('_', '-')}.txt`
  return [{ name, mime: 'text/plain', size: bytes.length, digest: digestOf(bytes), bytes, role }]
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function readFile({ content, contentType, filename }: Attachment, index: number): MailFile {
  return {
    name: safeFileName(filename, index),
    mime: /^[\w.+-]+\/[\w.+-]+$/.test(contentType) ? contentType.toLowerCase() : 'application/octet-stream',
    size: content.length,
    digest: digestOf(content),
    bytes: content,
  }
}

/** What an agent reads first, and what else there is. */
interface MailText {
  /** The newest text, `maxChars` at most. */
  readonly text: string
  /** Everything its author sent, with what it quotes; absent where that is the same. Kept as a file, so that it may be long. */
  readonly fullText?: string | undefined
  /** What the HTML says where it is not what the plain text says. */
  readonly htmlText?: string | undefined
  /** Characters that nobody sees, taken out. */
  readonly invisible: number
  readonly flags: readonly string[]
}

/** The plain text where there is one; the HTML only where there is none. Nothing is lost: what is trimmed stays beside it. */
function readMailText({ text, html }: ParsedTexts, options: BodyOptions): MailText {
  return text?.trim() ? readPlain(text, html || '', options) : readHtml(html || '', options)
}

function readPlain(text: string, html: string, options: BodyOptions): MailText {
  const { text: visible, invisible } = readVisibleCharacters(text.replace(/\r\n?/g, '\n'))
  const full = visible.trim()
  const other = html ? htmlToText(html, mailReading) : { text: '', hasHidden: false }
  const newest = options.keepsQuotes ? full : trimReply(full)
  const hidden = other.hasHidden ? ['hidden_text'] : []
  if (!saysElse(full, other.text)) return finishText({ full, newest, invisible, flags: hidden }, options)
  const flags = ['alternative_mismatch', ...hidden]
  return finishText({ full, newest, invisible, htmlText: other.text, flags }, options)
}

function readHtml(html: string, options: BodyOptions): MailText {
  const { text: full, hasHidden, invisible } = htmlToText(html, mailReading)
  const newest =
    options.keepsQuotes || holdsForward(full) ? full : trimReply(htmlToText(html, replyReading).text || full)
  return finishText({ full, newest, invisible, flags: hasHidden ? ['hidden_text'] : [] }, options)
}

interface FoundText extends Pick<MailText, 'htmlText' | 'invisible' | 'flags'> {
  readonly full: string
  readonly newest: string
}

function finishText({ full, newest, invisible, htmlText, flags }: FoundText, { limits }: BodyOptions): MailText {
  const maxChars = limits.text_chars
  return {
    text: newest.slice(0, maxChars),
    ...((full !== newest || newest.length > maxChars) && { fullText: full }),
    ...(htmlText && { htmlText }),
    invisible,
    flags: [
      ...flags,
      ...(invisible > 0 ? ['invisible_characters'] : []),
      ...(newest.length > maxChars ? ['text_cut'] : []),
    ],
  }
}

/** Words compared, and of how many in common two readings of one message are taken to say the same. */
const [maxWords, enoughWords, commonShare] = [2000, 5, 0.3]

/** Do two readings have hardly a word in common? Short ones may differ. */
function saysElse(text: string, other: string): boolean {
  const [words, others] = [listWords(text), listWords(other)]
  const smaller = Math.min(words.size, others.size)
  if (smaller < enoughWords) return false
  let common = 0
  for (const word of words) if (others.has(word)) common += 1
  return common < smaller * commonShare
}

function listWords(text: string): Set<string> {
  const words =
    text
      .slice(0, 64 * 1024)
      .toLowerCase()
      .match(/[\p{L}\p{N}]{4,40}/gu) ?? []
  return new Set(words.slice(0, maxWords))
}

/**
 * What is only recognised, by the type of the message or of one of its parts: the part stays a file with its octets, and
 * the agent is told (EM-4.9).
 */
const securityRules: readonly { readonly flag: string; readonly type: RegExp }[] = [
  { flag: 'smime_signed', type: /^multipart\/signed\b.*pkcs7-signature/i },
  { flag: 'smime_signed', type: /^application\/(?:x-)?pkcs7-mime\b.*smime-type\s*=\s*"?signed-data/i },
  {
    flag: 'smime_encrypted',
    type: /^application\/(?:x-)?pkcs7-mime\b(?!.*smime-type\s*=\s*"?(?:signed-data|certs-only|compressed-data))/i,
  },
  { flag: 'pgp_signed', type: /^multipart\/signed\b.*pgp-signature/i },
  { flag: 'pgp_encrypted', type: /^multipart\/encrypted\b.*pgp-encrypted/i },
  // As some servers rebuild it on the way (Exchange): the parts are there, what held them is not.
  { flag: 'pgp_encrypted', type: /^application\/pgp-encrypted\b/i },
  { flag: 'tnef', type: /^application\/(?:vnd\.)?ms-tnef\b/i },
]

/** Inline armour, at the beginning of a line. */
const armours: readonly (readonly [flag: string, armour: RegExp])[] = [
  ['pgp_encrypted', /^-----BEGIN PGP MESSAGE-----\s*$/m],
  ['pgp_signed', /^-----BEGIN PGP SIGNED MESSAGE-----\s*$/m],
]

interface SecuredMail {
  readonly header: HeaderBlock
  /** Content types of its files, with their names. */
  readonly files: readonly { readonly type: string; readonly name: string | undefined }[]
  readonly text: string
}

/** Flags for a mail that is signed or encrypted by S/MIME or OpenPGP, or wrapped into TNEF. */
function findSecurityFlags({ header, files, text }: SecuredMail): string[] {
  const types = [findField(header, 'content-type') ?? '', ...files.map(({ type }) => type)]
  const found = securityRules
    .filter(({ type }) => types.some(each => type.test(each.slice(0, 2000))))
    .map(({ flag }) => flag)
  const inline = armours.filter(([, armour]) => armour.test(text)).map(([flag]) => flag)
  const isTnef = files.some(({ name }) => /^winmail\.dat$/i.test(name ?? ''))
  return [...new Set([...found, ...inline, ...(isTnef ? ['tnef'] : [])])]
}

/**
 * The same bytes in memory of their own. Small buffers are cut from a common one, and a thread that is sent one of them is sent the whole of
 * that.
 */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const isOwn = bytes.byteLength === bytes.buffer.byteLength && bytes.buffer instanceof ArrayBuffer
  return isOwn ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes)
}
