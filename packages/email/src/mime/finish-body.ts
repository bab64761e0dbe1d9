// Creates the body of a message from its parsed texts and files.

import { invisibleFlag, readVisibleText } from '@postern/message/visible-text'
import type { Attachment, ParsedMail } from 'mailparser'
import { readCalendar } from '../body/calendar.ts'
import type { MailDetails, MailFile } from '../body/mail-body.ts'
import type { HeaderBlock, HeaderField } from '../mail/header.ts'
import { digestBytes, fullTypeOf, readFile } from './attached-file.ts'
import type { BodyOptions, ReadBody } from './job.ts'
import type { MailText, MailTexts } from './mail-text.ts'
import { readMailText } from './mail-text.ts'
import { findSecurityFlags } from './security-flags.ts'
import type { UnsignedStructure } from './unsigned-structure.ts'

/** The invitations that are read. No mail to an agent has more. */
const maxEvents = 5

/** The texts and files of a message, or of a message inside it. */
export interface ParsedTexts extends MailTexts, Pick<ParsedMail, 'attachments'> {
  /** True if some of them were inside a signature of S/MIME. */
  readonly isOpened?: boolean | undefined
}

/** Creates the body of a message from its texts and files. */
export function finishBody(
  mail: ParsedTexts,
  header: HeaderBlock,
  structure: UnsignedStructure | undefined,
  options: BodyOptions,
): ReadBody {
  const read = readParsed(mail, header, options)
  return structure ? noteStructure(read, mail, structure) : read
}

/** Returns true if a field describes the structure of the body. */
export function isOfBody({ name }: HeaderField): boolean {
  return name.startsWith('content-') || name === 'mime-version'
}

/** Marks the body as having an unsigned structure. HTML that may have been made from a plain text hides parts of that text, so its source is kept. */
function noteStructure(read: ReadBody, { html }: ParsedTexts, structure: UnsignedStructure): ReadBody {
  const source = structure.keepsSource && html ? toTextFile(html, 'html_source') : []
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
  const types = mail.attachments.map(attachment => ({ type: fullTypeOf(attachment), name: attachment.filename }))
  const flags = new Set([
    ...read.flags,
    ...findSecurityFlags({ header, files: types, text: read.text, isOpened: mail.isOpened === true }),
    ...(mail.attachments.length > files.length ? ['attachments_dropped'] : []),
    ...(attachments.some(hidesInName) ? [invisibleFlag] : []),
  ])
  const texts = [
    toTextFile(read.fullText, 'full_text'),
    toTextFile(read.htmlText, 'html_text'),
    toTextFile(read.plainText, 'plain_text'),
  ].flat()
  return {
    text: read.text,
    files: [...files, ...texts],
    details: listDetails(read, attachments, files),
    flags: [...flags],
  }
}

const hidesInName = ({ filename }: Attachment) => readVisibleText(filename ?? '').removedCount > 0

function listDetails(read: MailText, attachments: readonly Attachment[], files: readonly MailFile[]): MailDetails {
  const calendars = attachments.filter(({ contentType }) => /^text\/calendar$/i.test(contentType)).slice(0, maxEvents)
  const calendar = calendars.flatMap(({ content }) => readCalendar(content) ?? [])
  const names = attachments.flatMap(({ filename }, index) => {
    const safe = files[index]?.name
    const originalName = readVisibleText(filename ?? '').text.slice(0, 1000)
    return originalName && safe && originalName !== safe ? [[safe, originalName]] : []
  })
  return {
    ...(read.invisible > 0 && { invisible_characters: read.invisible }),
    ...(calendar.length > 0 && { calendar }),
    ...(names.length > 0 && { file_names: Object.fromEntries(names) }),
  }
}

/** Adds a text as a file next to the newest text. It is stored once, and not passed on with every later message. */
function toTextFile(text: string | undefined, role: NonNullable<MailFile['role']>): MailFile[] {
  if (text === undefined) return []
  const bytes = Buffer.from(text)
  const name = `${role.replace('_', '-')}.txt`
  return [{ name, mime: 'text/plain', size: bytes.length, digest: digestBytes(bytes), bytes, role }]
}
