import { lazy } from '@postern/core/lazy'
import { htmlToText, readVisibleCharacters } from '@postern/markup/html'
import type { Attachment, ParsedMail } from 'mailparser'
import type { ChainReport } from '../authenticate/arc-chain.ts'
import { readCalendar } from '../body/calendar.ts'
import type { MailDetails, MailFile } from '../body/mail-body.ts'
import { mailReading, replyReading, trimReply } from '../body/reply-trim.ts'
import { holdsForward } from '../body/reply-words.ts'
import type { SignatureReport, TxtAnswer } from '../dkim/report.ts'
import { verifySignatures } from '../dkim/verify.ts'
import type { HeaderBlock, HeaderField, HeaderLimits } from '../mail/octets.ts'
import { digestContent, findField, scanHeaders, toBuffer, toCrlf, withoutRanges } from '../mail/octets.ts'
import { decodeBase64Lines, decodeQuotedPrintable } from '../text/transfer-encoding.ts'
import { digestBytes, fullTypeOf, readFile, withoutTags } from './attached-file.ts'
import type { BodyOptions, MimeJob, MimeResult, ReadBody, ReadingDeps } from './job.ts'
import type { ContentType, Entity, Leaf } from './multipart.ts'
import { readMultipart } from './multipart.ts'
import { isBeyond, measureMime } from './shape.ts'
import type { UnsignedStructure } from './unsigned-structure.ts'
import { readUnsignedStructure } from './unsigned-structure.ts'

/**
 * Reads a message at once, on the thread that asks. Gives back the job, with what is known by then, where a thread must
 * read the message that may be killed. `header` is that of the job's octets.
 */
export type SimpleReader = (job: MimeJob, header?: HeaderBlock) => Promise<MimeResult | MimeJob>

/** Everything about a larger message may take long. */
const maxOctets = 64 * 1024

/** A simple message takes less time to read than to hand to a thread and back: it is small, and all of it is text. */
export function createSimpleReader(deps: ReadingDeps): SimpleReader {
  const isCostly = (answer: TxtAnswer) => {
    const record = 'records' in answer ? deps.readKey((answer.records[0] ?? []).join('')) : undefined
    return record !== undefined && 'key' in record && record.isCostly
  }
  return async (job, scanned) => {
    if (job.octets.length > maxOctets || job.isSealed || Object.values(job.keys).some(isCostly)) return job
    const { octets, header, signatures, limits } = verifyJob(job, deps, scanned)
    const isLoose = hasLooseStructure(job, { signatures })
    const body = await readSimpleBody(octets, header, { keepsQuotes: job.keepsQuotes, isLoose, limits })
    return body ? { signatures, body: { ...body, digest: digestContent(octets, header) } } : { ...job, signatures }
  }
}

/**
 * The content of a message that consists of texts, without the parser and so at once: the same that `readMailBody`
 * gives. Undefined for any other message.
 */
export async function readSimpleBody(
  octets: Buffer,
  header: HeaderBlock,
  options: BodyOptions,
): Promise<ReadBody | undefined> {
  if (declaresShape.test(findField(header, 'content-type') ?? '')) {
    const shape = measureMime(octets, header, options.limits)
    if (isBeyond(shape, options.limits)) return emptyBody('mime_limits')
    if (shape.unnamedCharsets.length > 0) return undefined
  }
  const structure = options.isLoose ? readUnsignedStructure(octets, header, options.limits) : undefined
  const fields = structure ? structure.fields.map(readStructureField) : header.fields.filter(isOfBody)
  const mail = await readSimpleMime(octets, { fields, bodyStart: header.bodyStart }, options.limits)
  return mail && finishBody({ ...mail, attachments: [] }, header, structure, options)
}

/** Types of messages with parts, or without a charset: all others are one part. */
const declaresShape = /^(?:multipart\/|message\/|text\/html\b)/i

function readStructureField(line: string): HeaderField {
  const colon = line.indexOf(':')
  return { name: line.slice(0, colon).toLowerCase(), value: line.slice(colon + 1).trim(), start: 0, end: 0 }
}
/** HTML with more of these may take tens of milliseconds: each element is looked at with each rule of its style sheets. */
const [maxHtml, maxTags, maxRules] = [16 * 1024, 500, 50]

/**
 * Reads a message that consists of texts: plain, HTML, or several of them in `multipart/alternative` and
 * `multipart/mixed`. The result is that of mailparser. Undefined for everything that is not plainly well-formed, and
 * for what has files: only the parser reads it.
 */
async function readSimpleMime(octets: Buffer, header: HeaderBlock, limits: HeaderLimits) {
  const root = { octets, header, end: octets.length, depth: 0, isAlternative: false }
  const leaves = readEntity(root, limits)
  if (!leaves) return undefined
  const hasHtml = leaves.some(({ type }) => type === 'text/html')
  // HTML beside texts that are not the same in another form: the parser makes one of them.
  if (hasHtml && leaves.length > 1 && leaves.some(({ isAlternative }) => !isAlternative)) return undefined
  const texts = await Promise.all(leaves.map(async leaf => ({ type: leaf.type, text: await decodeLeaf(leaf) })))
  const html = join(texts, 'text/html', '<br/>\n')
  if (html !== undefined && !isLight(html)) return undefined
  return { text: join(texts, 'text/plain', '\n'), html }
}

/** Most mail is UTF-8. The tables of all other charsets are loaded with the first mail that needs one. */
async function decodeLeaf({ octets, charset }: Leaf): Promise<string> {
  const text = unicode.test(charset) ? octets.toString() : (await loadCharsets()).decodeCharset(octets, charset)
  return text.replace(/\r?\n/g, '\n')
}

const loadCharsets = lazy(() => import('../text/charsets.ts'))

function isLight(html: string): boolean {
  return (
    html.length <= maxHtml &&
    html.split('<', maxTags + 1).length <= maxTags &&
    html.split('{', maxRules + 1).length <= maxRules
  )
}

function join(
  leaves: readonly Readonly<Record<'type' | 'text', string>>[],
  wanted: string,
  between: string,
): string | undefined {
  const texts = leaves.flatMap(({ type, text }) => (type === wanted && text !== '' ? [text] : []))
  return texts.length > 0 ? texts.join(between) : undefined
}

function readEntity(entity: Entity, limits: HeaderLimits): readonly Leaf[] | undefined {
  const { header, depth } = entity
  const type = readType(findField(header, 'content-type') ?? (depth === 0 ? 'text/plain' : ''))
  if (!type || !hasPlainHeader(header)) return undefined
  if (!type.name.startsWith('multipart/')) return readLeaf(entity, type)
  const isEncoded = !isIdentity(findField(header, 'content-transfer-encoding'))
  return isEncoded ? undefined : readMultipart(entity, type, limits, readEntity)
}

function readLeaf({ octets, header, end, isAlternative }: Entity, type: ContentType): readonly Leaf[] | undefined {
  const charset = type.params.get('charset')
  // Only HTML itself may say what it is written in.
  if (type.name === 'text/html' && charset === undefined) return undefined
  const decoded = decodeTransfer(octets.subarray(header.bodyStart, end), findField(header, 'content-transfer-encoding'))
  if (!decoded) return undefined
  return [{ type: type.name, octets: decoded, charset: charset ?? 'utf-8', isAlternative }]
}

const unicode = /^(?:utf-8|us-ascii)$/i
const charsets = /^(?:utf-8|us-ascii|iso-8859-(?:[1-9]|1[0-6])|windows-125[0-8]|koi8-[ru])$/i

/** No field twice, and nothing that makes a file of a text. */
function hasPlainHeader(header: HeaderBlock): boolean {
  const names = new Set(header.fields.map(({ name }) => name))
  return names.size === header.fields.length && /^inline$/i.test(findField(header, 'content-disposition') ?? 'inline')
}

const typePattern =
  /^(text\/plain|text\/html|multipart\/alternative|multipart\/mixed)((?:[ \t]*;[ \t]*[a-z]+=(?:"[^"\\]*"|[\w.+:-]+))*)[ \t]*;?$/i
/** What each parameter may be; another one is read by the parser only. */
const params: Readonly<Record<string, RegExp>> = {
  charset: charsets,
  boundary: /^[\w'+./:=-]{1,70}$/,
  format: /^fixed$/i,
}

function readType(value: string): ContentType | undefined {
  const match = typePattern.exec(value)
  if (!match) return undefined
  const found = [...(match[2] ?? '').matchAll(/([a-z]+)=(?:"([^"]*)"|([^\s;]+))/gi)]
  const read = new Map(found.map(([, name = '', quoted, token]) => [name.toLowerCase(), quoted ?? token ?? '']))
  const isPlain = read.size === found.length && [...read].every(([name, text]) => params[name]?.test(text))
  return isPlain ? { name: (match[1] ?? '').toLowerCase(), params: read } : undefined
}

/** Octets as they were before a Content-Transfer-Encoding (RFC 2045 §6); undefined unless they are exactly so encoded. */
function decodeTransfer(octets: Buffer, encoding = '7bit'): Buffer | undefined {
  if (isIdentity(encoding)) return octets
  if (/^quoted-printable$/i.test(encoding)) return decodeQuotedPrintable(octets)
  return /^base64$/i.test(encoding) ? decodeBase64Lines(octets) : undefined
}

/** An encoding that changes nothing. */
function isIdentity(encoding = '7bit'): boolean {
  return /^(?:7bit|8bit|binary)$/i.test(encoding)
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

/** Beside the newest text, but not in it: stored once, and not handed on again with every later message. */
function keepText(text: string | undefined, role: NonNullable<MailFile['role']>): MailFile[] {
  if (text === undefined) return []
  const bytes = Buffer.from(text)
  const name = `${role.replace('_', '-')}.txt`
  return [{ name, mime: 'text/plain', size: bytes.length, digest: digestBytes(bytes), bytes, role }]
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
