// Creates the body of a message from its parsed texts and files.

import { invisibleFlag, readVisibleText } from '@postern/message/visible-text'
import { readCalendar } from '../body/calendar.ts'
import type { MailDetails, MailFile } from '../body/mail-body.ts'
import type { HeaderBlock, HeaderField } from '../mail/header.ts'
import type { ParsedFile } from './attached-file.ts'
import { digestBytes, readFullType, toMailFile } from './attached-file.ts'
import type { BodyOptions, ParsedBody } from './job.ts'
import type { MailText, MailTexts } from './mail-text.ts'
import { readMailText } from './mail-text.ts'
import { findSecurityFlags } from './security-flags.ts'
import type { UnsignedStructure } from './unsigned-structure.ts'

/** The maximum number of invitations that are read. No honest mail has more. */
const maxEvents = 5

/** The texts and files of a message, or of a message inside it. */
export interface ParsedTexts extends MailTexts {
  readonly attachments: readonly ParsedFile[]
  /** True if some of the texts or files were inside an S/MIME signature. */
  readonly isOpened?: boolean | undefined
}

/** Creates the body of a message from its texts and files. */
export function finishBody(
  mail: ParsedTexts,
  header: HeaderBlock,
  structure: UnsignedStructure | undefined,
  options: BodyOptions,
): ParsedBody {
  const body = createBody(mail, header, options)
  return structure ? flagUnsignedStructure(body, mail, structure) : body
}

/** Returns true if a field describes the structure of the body. */
export function isStructureField({ name }: HeaderField): boolean {
  return name.startsWith('content-') || name === 'mime-version'
}

/**
 * Marks the body as having an unsigned structure. A forwarder may have relabelled signed plain text as HTML, which
 * hides parts of it. So the source of HTML is stored as a file.
 */
function flagUnsignedStructure(body: ParsedBody, { html }: ParsedTexts, structure: UnsignedStructure): ParsedBody {
  const source = structure.keepsSource && html ? toTextFile(html, 'html_source') : []
  const flags = structure.isIgnored ? [...body.flags, 'unsigned_structure'] : body.flags
  return { ...body, files: [...body.files, ...source], flags }
}

/** Creates the body of a message that could not be read, with the flag that gives the reason. */
export function createEmptyBody(flag: string): ParsedBody {
  return { text: '', files: [], details: {}, flags: [flag] }
}

function createBody(mail: ParsedTexts, header: HeaderBlock, options: BodyOptions): ParsedBody {
  const { limits } = options
  const mailText = readMailText(mail, options)
  const attachments = mail.attachments.slice(0, limits.attachments)
  const files = attachments.map(toMailFile)
  const types = mail.attachments.map(attachment => ({ type: readFullType(attachment), name: attachment.filename }))
  const flags = new Set([
    ...mailText.flags,
    ...findSecurityFlags({ header, files: types, text: mailText.text, isOpened: mail.isOpened === true }),
    ...(mail.attachments.length > files.length ? ['attachments_dropped'] : []),
    ...(attachments.some(hasInvisibleName) ? [invisibleFlag] : []),
  ])
  const texts = [
    toTextFile(mailText.fullText, 'full_text'),
    toTextFile(mailText.htmlText, 'html_text'),
    toTextFile(mailText.plainText, 'plain_text'),
  ].flat()
  return {
    text: mailText.text,
    files: [...files, ...texts],
    details: listDetails(mailText, attachments, files),
    flags: [...flags],
  }
}

const hasInvisibleName = ({ filename }: ParsedFile) => readVisibleText(filename ?? '').removedCount > 0

function listDetails(mailText: MailText, attachments: readonly ParsedFile[], files: readonly MailFile[]): MailDetails {
  const calendars = attachments.filter(({ contentType }) => /^text\/calendar$/i.test(contentType)).slice(0, maxEvents)
  const calendar = calendars.flatMap(({ content }) => readCalendar(content) ?? [])
  const names = attachments.flatMap(({ filename }, index) => {
    const safeName = files[index]?.name
    const originalName = readVisibleText(filename ?? '').text.slice(0, 1000)
    return originalName && safeName && originalName !== safeName ? [[safeName, originalName]] : []
  })
  return {
    ...(mailText.invisibleCount > 0 && { invisible_characters: mailText.invisibleCount }),
    ...(calendar.length > 0 && { calendar }),
    ...(names.length > 0 && { file_names: Object.fromEntries(names) }),
  }
}

/** Returns a text as a file. A file is stored once, and later messages of the thread do not repeat it. */
function toTextFile(text: string | undefined, role: NonNullable<MailFile['role']>): MailFile[] {
  if (text === undefined) return []
  const bytes = Buffer.from(text)
  const name = `${role.replace('_', '-')}.txt`
  return [{ name, mime: 'text/plain', size: bytes.length, digest: digestBytes(bytes), bytes, role }]
}
