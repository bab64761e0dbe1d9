// Parses messages that consist of texts and plain files, with the same results as mailparser.

import { lazy } from '@postern/message/lazy'
import type { HeaderBlock, HeaderLimits } from '../mail/header.ts'
import { findField } from '../mail/header.ts'
import { decodeBase64Lines, decodeQuotedPrintable } from '../text/transfer-encoding.ts'
import type { ParsedFile } from './attached-file.ts'
import type { ContentType, Leaf, PartEntity } from './multipart.ts'
import { readMultipart } from './multipart.ts'
import { readSimpleFile } from './simple-file.ts'

/** The options for reading a message here. */
interface SimpleOptions {
  readonly limits: HeaderLimits
  /** True in a thread that may be stopped, which reads HTML of any size. */
  readonly hasDeadline?: boolean | undefined
}

/** The files have no further fields that count, because only plain files are read here. */
const noHeaders = new Map()

/**
 * The limits of HTML. Larger HTML may take tens of milliseconds, because each element is matched with each rule of its
 * style sheets.
 */
const [maxHtmlChars, maxTags, maxRules] = [16 * 1024, 500, 50]

/**
 * Reads a message that consists of texts and files: plain, HTML, or several of them in `multipart/alternative` and
 * `multipart/mixed`. The result equals that of mailparser. It returns undefined for a message with unusual files or with
 * an irregular structure, which only mailparser can read.
 */
export async function readSimpleMime(octets: Buffer, header: HeaderBlock, { limits, hasDeadline }: SimpleOptions) {
  const root = { octets, header, bodyEnd: octets.length, depth: 0, isAlternative: false }
  const leaves = readEntity(root, limits)
  if (!leaves) return undefined
  const textLeaves = leaves.filter(({ file }) => !file)
  const hasHtml = textLeaves.some(({ type }) => type === 'text/html')
  // Only mailparser joins HTML with texts that are not its alternatives.
  if (hasHtml && textLeaves.length > 1 && textLeaves.some(({ isAlternative }) => !isAlternative)) return undefined
  const charsets = textLeaves.every(hasUnicode) ? undefined : await loadCharsets()
  const texts = textLeaves.map(leaf => ({ type: leaf.type, text: decodeLeaf(leaf, charsets) }))
  const html = joinTexts(texts, 'text/html', '<br/>\n')
  if (html !== undefined && !hasDeadline && !isQuickToRead(html)) return undefined
  return { text: joinTexts(texts, 'text/plain', '\n'), html, attachments: leaves.flatMap(listFile) }
}

function listFile({ type, octets, file }: Leaf): ParsedFile[] {
  return file ? [{ content: octets, contentType: type, filename: file.name, headers: noHeaders }] : []
}

/** The tables of all charsets but Unicode. Most mail is UTF-8, so they are loaded with the first mail that needs one. */
const loadCharsets = lazy(() => import('../text/charsets.ts'))

function hasUnicode({ charset }: Leaf): boolean {
  return unicodeCharsetPattern.test(charset)
}

/** Decodes a text. `charsets` is defined if any text of the mail is not Unicode. */
function decodeLeaf(leaf: Leaf, charsets: Awaited<ReturnType<typeof loadCharsets>> | undefined): string {
  const { octets, charset } = leaf
  const text = charsets && !hasUnicode(leaf) ? charsets.decodeCharset(octets, charset) : octets.toString()
  return text.replaceAll('\r\n', '\n')
}

function isQuickToRead(html: string): boolean {
  return (
    html.length <= maxHtmlChars &&
    html.split('<', maxTags + 1).length <= maxTags &&
    html.split('{', maxRules + 1).length <= maxRules
  )
}

function joinTexts(
  leaves: readonly Readonly<Record<'type' | 'text', string>>[],
  subtype: string,
  separator: string,
): string | undefined {
  const texts = leaves.flatMap(({ type, text }) => (type === subtype && text !== '' ? [text] : []))
  return texts.length > 0 ? texts.join(separator) : undefined
}

function readEntity(entity: PartEntity, limits: HeaderLimits): readonly Leaf[] | undefined {
  const { header, depth } = entity
  if (!hasSingleFields(header)) return undefined
  const file = readSimpleFile(entity)
  if (file) return [file]
  const type = readType(findField(header, 'content-type') ?? (depth === 0 ? 'text/plain' : ''))
  if (!type || !isInline(header)) return undefined
  if (!type.name.startsWith('multipart/')) return readLeaf(entity, type)
  const isEncoded = !isIdentityEncoding(findField(header, 'content-transfer-encoding'))
  return isEncoded ? undefined : readMultipart(entity, type, limits, readEntity)
}

function readLeaf(
  { octets, header, bodyEnd, isAlternative }: PartEntity,
  type: ContentType,
): readonly Leaf[] | undefined {
  const charset = type.params.get('charset')
  // HTML without a charset may declare one in its text.
  if (type.name === 'text/html' && charset === undefined) return undefined
  const decodedBody = decodeTransfer(
    octets.subarray(header.bodyStart, bodyEnd),
    findField(header, 'content-transfer-encoding'),
  )
  if (!decodedBody) return undefined
  return [{ type: type.name, octets: decodedBody, charset: charset ?? 'utf-8', isAlternative }]
}

const unicodeCharsetPattern = /^(?:utf-8|us-ascii)$/i

const knownCharsetPattern = /^(?:utf-8|us-ascii|iso-8859-(?:[1-9]|1[0-6])|windows-125[0-8]|koi8-[ru])$/i

function hasSingleFields({ fields }: HeaderBlock): boolean {
  return new Set(fields.map(({ name }) => name)).size === fields.length
}

/** Returns true if no Content-Disposition turns a text into a file. */
function isInline(header: HeaderBlock): boolean {
  return /^inline$/i.test(findField(header, 'content-disposition') ?? 'inline')
}

const typePattern =
  /^(text\/plain|text\/html|multipart\/alternative|multipart\/mixed)((?:[ \t]*;[ \t]*[a-z]+=(?:"[^"\\]*"|[\w.+:-]+))*)[ \t]*;?$/i

/** The parameters and values that are read here. A message with any other parameter or value goes to mailparser. */
const paramPatterns: Readonly<Record<string, RegExp>> = {
  charset: knownCharsetPattern,
  boundary: /^[\w'+./:=-]{1,70}$/,
  format: /^fixed$/i,
}

function readType(value: string): ContentType | undefined {
  const match = typePattern.exec(value)
  if (!match) return undefined
  const parameters = [...(match[2] ?? '').matchAll(/([a-z]+)=(?:"([^"]*)"|([^\s;]+))/gi)]
  const values = new Map(parameters.map(([, name = '', quoted, token]) => [name.toLowerCase(), quoted ?? token ?? '']))
  const isPlain =
    values.size === parameters.length && [...values].every(([name, text]) => paramPatterns[name]?.test(text))
  return isPlain ? { name: (match[1] ?? '').toLowerCase(), params: values } : undefined
}

/** Decodes a Content-Transfer-Encoding (RFC 2045 §6). It returns undefined unless the octets are exactly so encoded. */
function decodeTransfer(octets: Buffer, encoding = '7bit'): Buffer | undefined {
  if (isIdentityEncoding(encoding)) return octets
  if (/^quoted-printable$/i.test(encoding)) return decodeQuotedPrintable(octets)
  return /^base64$/i.test(encoding) ? decodeBase64Lines(octets) : undefined
}

/** Returns true if an encoding leaves the octets unchanged. */
function isIdentityEncoding(encoding = '7bit'): boolean {
  return /^(?:7bit|8bit|binary)$/i.test(encoding)
}
