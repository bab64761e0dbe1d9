// Reads the newest text and the files of a MIME message.
import { escapeHtml } from '@postern/message/html-characters'
import { simpleParser } from 'mailparser'
import type { MailLimits } from '../config/limits.ts'
import { applyCorrections } from '../entity/corrected-fields.ts'
import { exceedsMimeLimits, measureMime } from '../entity/measure-mime.ts'
import { readCms } from '../entity/signed-data.ts'
import type { HeaderBlock } from '../mail/header.ts'
import { findField, scanHeaders } from '../mail/header.ts'
import { toCrlf } from '../mail/line-ends.ts'
import { CharsetStream } from '../text/charsets.ts'
import type { ParsedFile } from './attached-file.ts'
import type { ParsedTexts } from './finish-body.ts'
import { createEmptyBody, finishBody, isStructureField } from './finish-body.ts'
import type { BodyOptions, ParsedBody } from './job.ts'
import type { UnsignedStructure } from './unsigned-structure.ts'
import { readUnsignedStructure } from './unsigned-structure.ts'

/**
 * Reads the content of a message. The result for a message that is too complex or too broken has a flag and no content.
 */
export async function readMailBody(octets: Buffer, header: HeaderBlock, options: BodyOptions): Promise<ParsedBody> {
  try {
    const entity = correctEntity(octets, header, options.limits)
    if (!entity) return createEmptyBody('mime_limits')
    const structure = options.isStructureUnsigned
      ? readUnsignedStructure(entity.octets, entity.header, options.limits)
      : undefined
    const parsedMail = await parseEntity(reduceHeader(entity, structure))
    const mail = await openSignedEntities(parsedMail, options.limits)
    return finishBody(mail, entity.header, structure, options)
  } catch {
    return createEmptyBody('unparsable')
  }
}

interface MimeEntity {
  readonly octets: Buffer
  readonly header: HeaderBlock
}

/** Returns the message in the form that the parser reads. It returns undefined if the message is too complex. */
function correctEntity(octets: Buffer, header: HeaderBlock, limits: MailLimits): MimeEntity | undefined {
  const measurement = measureMime(octets, header, limits)
  if (exceedsMimeLimits(measurement, limits)) return undefined
  if (measurement.corrections.length === 0) return { octets, header }
  const correctedOctets = applyCorrections(octets, measurement.corrections)
  return { octets: correctedOctets, header: scanHeaders(correctedOctets, limits) }
}

function parseEntity(octets: Buffer): Promise<ParsedTexts> {
  return simpleParser(octets, {
    skipHtmlToText: true,
    skipTextToHtml: true,
    keepCidLinks: true,
    checksumAlgo: false,
    ignoreEmbedded: true,
    Iconv: CharsetStream,
  })
}

/** The deepest nesting of signatures. Programs write at most two levels. */
const maxSignatureDepth = 3

/**
 * Replaces each S/MIME signature of a message with the content that it signs (RFC 8551 §3.5.2). An unreadable or too
 * complex signature stays a file, and so does a signed document.
 */
async function openSignedEntities(mail: ParsedTexts, limits: MailLimits, depth = 0): Promise<ParsedTexts> {
  const attachedEntities = new Map<ParsedFile, MimeEntity>()
  for (const file of depth < maxSignatureDepth ? mail.attachments : []) {
    const entity = attachedEntities.size < limits.embedded_messages ? findSignedEntity(file, limits) : undefined
    if (entity) attachedEntities.set(file, entity)
  }
  if (attachedEntities.size === 0) return mail
  let joinedMail: ParsedTexts = { ...mail, attachments: mail.attachments.filter(file => !attachedEntities.has(file)) }
  for (const entity of [...attachedEntities.values()].toReversed()) {
    const signedMail = await openSignedEntities(await parseEntity(reduceHeader(entity)), limits, depth + 1)
    joinedMail = joinMails(signedMail, joinedMail)
  }
  return { ...joinedMail, isOpened: true }
}

/** Finds the entity inside a signature. Signed documents have the same types and file names, but no header. */
function findSignedEntity(file: ParsedFile, limits: MailLimits): MimeEntity | undefined {
  const content = mayBeSmimeFile(file) ? readCms(file.content)?.content : undefined
  if (!content) return undefined
  try {
    const octets = toCrlf(content)
    const header = scanHeaders(octets, limits)
    return findField(header, 'content-type') === undefined ? undefined : correctEntity(octets, header, limits)
  } catch {
    return undefined
  }
}

/** Returns true if the type or the name of a file is that of an S/MIME file (RFC 8551 §3.9). */
function mayBeSmimeFile({ contentType, filename }: ParsedFile): boolean {
  return /^application\/(?:x-)?pkcs7-mime$/i.test(contentType) || /\.p7m$/i.test(filename ?? '')
}

/**
 * Joins a signed message and the message around it. Text that a forwarder added around the signed message, such as the
 * footer of a list, comes last.
 */
function joinMails(signedMail: ParsedTexts, outerMail: ParsedTexts): ParsedTexts {
  const texts = [signedMail.text, outerMail.text].filter(text => text?.trim())
  const htmls = [signedMail, outerMail].map(({ text, html }) => html || toHtml(text ?? ''))
  return {
    attachments: [...signedMail.attachments, ...outerMail.attachments],
    ...(texts.length > 0 && { text: texts.join('\n') }),
    ...((signedMail.html || outerMail.html) && { html: htmls.filter(html => html !== '').join('<br/>\n') }),
  }
}

function toHtml(text: string): string {
  return text.trim() === '' ? '' : `<pre>${escapeHtml(text)}</pre>`
}

/** The largest message that is copied, in octets. Copying a larger one costs more than reading its fields. */
const maxCopiedOctets = 64 * 1024

const crlf = Buffer.from('\r\n')

/**
 * Returns the message with only the fields about its structure. The author and subject have already been read, and the parser needs no other field.
 */
function reduceHeader({ octets, header }: MimeEntity, structure?: UnsignedStructure): Buffer {
  const { fields, bodyStart } = header
  if (structure) {
    const lines = structure.fields.map(field => `${field}\r\n`).join('')
    return Buffer.concat([Buffer.from(lines, 'latin1'), crlf, octets.subarray(bodyStart)])
  }
  if (octets.length > maxCopiedOctets) return octets
  const lines = fields.filter(isStructureField).map(({ start, end }) => octets.subarray(start, end))
  return Buffer.concat([...lines, crlf, octets.subarray(bodyStart)])
}
