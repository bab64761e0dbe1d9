import { createHash } from 'node:crypto'
import type { Attachment, ParsedMail } from 'mailparser'
import { readCalendar } from '../body/calendar.ts'
import type { MailDetails } from '../body/details.ts'
import type { MailBody, MailFile } from '../body/mail-body.ts'
import { findSecurityFlags } from '../body/security-flags.ts'
import type { MailText } from '../body/text.ts'
import { readMailText } from '../body/text.ts'
import type { MailLimits } from '../config/limits.ts'
import type { HeaderBlock, HeaderField } from '../mail/header-scan.ts'
import { safeFileName } from '../text/file-name.ts'
import type { UnsignedStructure } from './unsigned-structure.ts'

export interface BodyOptions {
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

interface Finishing {
  readonly header: HeaderBlock
  readonly structure: UnsignedStructure | undefined
  readonly options: BodyOptions
}

/** The body of a message whose texts and files were found. */
export function finishBody(mail: ParsedTexts, { header, structure, options }: Finishing): ReadBody {
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

function readParsed(mail: ParsedTexts, header: HeaderBlock, { keepsQuotes, limits }: BodyOptions): ReadBody {
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
