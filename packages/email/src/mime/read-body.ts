import { createHash } from 'node:crypto'
import type { Attachment, ParsedMail } from 'mailparser'
import { simpleParser } from 'mailparser'
import { readCalendar } from '../body/calendar.ts'
import type { MailDetails } from '../body/details.ts'
import type { MailBody, MailFile } from '../body/mail-body.ts'
import { findSecurityFlags } from '../body/security-flags.ts'
import type { MailText } from '../body/text.ts'
import { readMailText } from '../body/text.ts'
import type { MailLimits } from '../config/limits.ts'
import type { HeaderBlock } from '../mail/header-scan.ts'
import { scanHeaders } from '../mail/header-scan.ts'
import { CharsetStream } from '../text/charset-stream.ts'
import { charsetOfMeta } from '../text/charsets.ts'
import { safeFileName } from '../text/file-name.ts'
import { isBeyond, measureMime } from './shape.ts'
import type { UnsignedStructure } from './unsigned-structure.ts'
import { readUnsignedStructure } from './unsigned-structure.ts'

interface BodyOptions {
  readonly keepsQuotes: boolean
  /** The fields that give the structure of the body are unsigned, and the body is signed. */
  readonly isLoose: boolean
  readonly limits: MailLimits
}

type ReadBody = Omit<MailBody, 'digest'>

/** No mail to an agent has more invitations than this. */
const maxEvents = 5

/**
 * The content of a message: its newest text and its files. A message too complex or too broken to read is not lost: it
 * comes back without content and with a flag.
 */
export async function readMailBody(octets: Buffer, header: HeaderBlock, options: BodyOptions): Promise<ReadBody> {
  const shape = measureMime(octets, header, options.limits)
  if (isBeyond(shape, options.limits)) return emptyBody('mime_limits')
  if (shape.unnamedCharsets.length === 0) return parseBody(octets, header, options)
  const named = nameCharsets(octets, shape.unnamedCharsets)
  return parseBody(named, scanHeaders(named, options.limits), options)
}

/** The parser would read HTML as UTF-8 when only the HTML itself names its charset. */
function nameCharsets(octets: Buffer, offsets: readonly number[]): Buffer {
  const ends = [...offsets, octets.length]
  const pieces = ends.map((end, index) => octets.subarray(offsets[index - 1] ?? 0, end))
  return Buffer.concat(pieces.flatMap((piece, index) => (index === 0 ? [piece] : [charsetParameter, piece])))
}

const charsetParameter = Buffer.from(`; charset=${charsetOfMeta}`)

async function parseBody(octets: Buffer, header: HeaderBlock, options: BodyOptions): Promise<ReadBody> {
  const structure = options.isLoose ? readUnsignedStructure(octets, header, options.limits) : undefined
  try {
    const mail = await simpleParser(withBareHeader(octets, header, structure), {
      skipHtmlToText: true,
      skipTextToHtml: true,
      keepCidLinks: true,
      checksumAlgo: false,
      ignoreEmbedded: true,
      Iconv: CharsetStream,
    })
    const read = readParsed(mail, header, options)
    return structure ? noteStructure(read, mail, structure) : read
  } catch {
    return emptyBody('unparsable')
  }
}

/** Larger parts are not copied: that costs more than reading the fields. */
const bareLimit = 64 * 1024

/** The author and subject are read already; the parser only needs the structure of the body. */
function withBareHeader(octets: Buffer, { fields, bodyStart }: HeaderBlock, structure?: UnsignedStructure): Buffer {
  if (structure) {
    const lines = structure.fields.map(field => `${field}\r\n`).join('')
    return Buffer.concat([Buffer.from(lines, 'latin1'), lineEnd, octets.subarray(bodyStart)])
  }
  if (octets.length > bareLimit) return octets
  const own = fields.filter(({ name }) => name.startsWith('content-') || name === 'mime-version')
  const lines = own.map(({ start, end }) => octets.subarray(start, end))
  return Buffer.concat([...lines, lineEnd, octets.subarray(bodyStart)])
}

const lineEnd = Buffer.from('\r\n')

/** HTML that may have been made of a plain text hides what the text shows. */
function noteStructure(read: ReadBody, { html }: ParsedMail, structure: UnsignedStructure): ReadBody {
  const source = structure.keepsSource && html ? keepText(html, 'html_source') : []
  const flags = structure.isIgnored ? [...read.flags, 'unsigned_structure'] : read.flags
  return { ...read, files: [...read.files, ...source], flags }
}

function emptyBody(flag: string): ReadBody {
  return { text: '', files: [], details: {}, flags: [flag] }
}

function readParsed(mail: ParsedMail, header: HeaderBlock, { keepsQuotes, limits }: BodyOptions): ReadBody {
  const read = readMailText(
    { text: mail.text, html: mail.html || undefined },
    { keepsQuotes, maxChars: limits.text_chars },
  )
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
