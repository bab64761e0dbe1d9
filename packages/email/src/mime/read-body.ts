// Reads the newest text and the files of a MIME message.
import { escapeHtml } from '@postern/message/html-characters'
import type { Attachment } from 'mailparser'
import { simpleParser } from 'mailparser'
import type { MailLimits } from '../config/limits.ts'
import { applyCorrections } from '../entity/corrected-fields.ts'
import { exceedsMimeLimits, measureMime } from '../entity/shape.ts'
import { readCms } from '../entity/signed-data.ts'
import type { HeaderBlock } from '../mail/header.ts'
import { findField, scanHeaders } from '../mail/header.ts'
import { toCrlf } from '../mail/line-ends.ts'
import { CharsetStream } from '../text/charsets.ts'
import type { ParsedTexts } from './finish-body.ts'
import { emptyBody, finishBody, isStructureField } from './finish-body.ts'
import type { BodyOptions, ParsedBody } from './job.ts'
import type { UnsignedStructure } from './unsigned-structure.ts'
import { readUnsignedStructure } from './unsigned-structure.ts'

/** Reads the content of a message. A message that is too complex or too broken to read is not lost: the result then has no content and a flag. */
export async function readMailBody(octets: Buffer, header: HeaderBlock, options: BodyOptions): Promise<ParsedBody> {
  try {
    const entity = correctEntity(octets, header, options.limits)
    if (!entity) return emptyBody('mime_limits')
    const structure = options.isLoose ? readUnsignedStructure(entity.octets, entity.header, options.limits) : undefined
    const parsedMail = await parseEntity(withBareHeader(entity, structure))
    const mail = await openSigned(parsedMail, options.limits)
    return finishBody(mail, entity.header, structure, options)
  } catch {
    return emptyBody('unparsable')
  }
}

interface MimeEntity {
  readonly octets: Buffer
  readonly header: HeaderBlock
}

/** Returns the message in the form that the parser reads. It returns undefined if the message is too complex. */
function correctEntity(octets: Buffer, header: HeaderBlock, limits: MailLimits): MimeEntity | undefined {
  const shape = measureMime(octets, header, limits)
  if (exceedsMimeLimits(shape, limits)) return undefined
  if (shape.corrections.length === 0) return { octets, header }
  const correctedOctets = applyCorrections(octets, shape.corrections)
  return { octets: correctedOctets, header: scanHeaders(correctedOctets, limits) }
}

async function parseEntity(octets: Buffer): Promise<ParsedTexts> {
  return await simpleParser(octets, {
    skipHtmlToText: true,
    skipTextToHtml: true,
    keepCidLinks: true,
    checksumAlgo: false,
    ignoreEmbedded: true,
    Iconv: CharsetStream,
  })
}

/** The deepest nesting of signatures. Programs write at most two. */
const maxSignatures = 3

/**
 * Returns a message with the content of its S/MIME signatures in their place (RFC 8551 §3.5.2). A signature that is unreadable, too complex or a
 * signed document stays a file.
 */
async function openSigned(mail: ParsedTexts, limits: MailLimits, depth = 0): Promise<ParsedTexts> {
  const attachedEntities = new Map<Attachment, MimeEntity>()
  for (const file of depth < maxSignatures ? mail.attachments : []) {
    const entity = attachedEntities.size < limits.embedded_messages ? findSigned(file, limits) : undefined
    if (entity) attachedEntities.set(file, entity)
  }
  if (attachedEntities.size === 0) return mail
  let openedTexts: ParsedTexts = { ...mail, attachments: mail.attachments.filter(file => !attachedEntities.has(file)) }
  for (const entity of [...attachedEntities.values()].toReversed()) {
    const innerTexts = await openSigned(await parseEntity(withBareHeader(entity)), limits, depth + 1)
    openedTexts = joinMails(innerTexts, openedTexts)
  }
  return { ...openedTexts, isOpened: true }
}

/** Finds the entity inside a signature. Signed documents have the same types and file names, but no header. */
function findSigned(file: Attachment, limits: MailLimits): MimeEntity | undefined {
  const content = mayBeSigned(file) ? readCms(file.content)?.content : undefined
  if (!content) return undefined
  try {
    const octets = toCrlf(content)
    const header = scanHeaders(octets, limits)
    return findField(header, 'content-type') === undefined ? undefined : correctEntity(octets, header, limits)
  } catch {
    return undefined
  }
}

/** Returns true for an S/MIME file by its type or by the ending of its name (RFC 8551 §3.9). */
function mayBeSigned({ contentType, filename }: Attachment): boolean {
  return /^application\/(?:x-)?pkcs7-mime$/i.test(contentType) || /\.p7m$/i.test(filename ?? '')
}

/** Joins two messages. The signed one comes first, and text that others added around it, such as the footer of a list, comes after it. */
function joinMails(first: ParsedTexts, second: ParsedTexts): ParsedTexts {
  const texts = [first.text, second.text].filter(text => text?.trim())
  const htmls = [first, second].map(({ text, html }) => html || toHtml(text ?? ''))
  return {
    attachments: [...first.attachments, ...second.attachments],
    ...(texts.length > 0 && { text: texts.join('\n') }),
    ...((first.html || second.html) && { html: htmls.filter(html => html !== '').join('<br/>\n') }),
  }
}

function toHtml(text: string): string {
  return text.trim() === '' ? '' : `<pre>${escapeHtml(text)}</pre>`
}

/** The largest message that is copied, in octets. Copying a larger one costs more than reading its fields. */
const maxCopiedOctets = 64 * 1024

/**
 * Returns the message with only the fields about its structure. The author and subject have already been read, and the parser needs no other field.
 */
function withBareHeader({ octets, header }: MimeEntity, structure?: UnsignedStructure): Buffer {
  const { fields, bodyStart } = header
  if (structure) {
    const lines = structure.fields.map(field => `${field}\r\n`).join('')
    return Buffer.concat([Buffer.from(lines, 'latin1'), lineEnd, octets.subarray(bodyStart)])
  }
  if (octets.length > maxCopiedOctets) return octets
  const lines = fields.filter(isStructureField).map(({ start, end }) => octets.subarray(start, end))
  return Buffer.concat([...lines, lineEnd, octets.subarray(bodyStart)])
}

const lineEnd = Buffer.from('\r\n')
