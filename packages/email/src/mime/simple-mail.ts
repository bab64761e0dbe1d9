import { lazy } from '@postern/core/lazy'
import type { TxtAnswer } from '../dkim/verify.ts'
import type { HeaderBlock, HeaderField, HeaderLimits } from '../mail/scan.ts'
import { digestContent, findField, isBeyond, measureMime, scanHeaders } from '../mail/scan.ts'
import type { BodyOptions, MimeJob, MimeResult, ReadBody, ReadingDeps } from './job.ts'
import { emptyBody, finishBody, hasLooseStructure, isOfBody, verifyJob } from './job.ts'
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
  const shape = measureMime(octets, header, options.limits)
  if (isBeyond(shape, options.limits)) return emptyBody('mime_limits')
  if (shape.unnamedCharsets.length > 0) return undefined
  const structure = options.isLoose ? readUnsignedStructure(octets, header, options.limits) : undefined
  const fields = structure ? structure.fields.map(readStructureField) : header.fields.filter(isOfBody)
  const mail = await readSimpleMime(octets, { fields, bodyStart: header.bodyStart }, options.limits)
  return mail && finishBody({ ...mail, attachments: [] }, header, structure, options)
}

function readStructureField(line: string): HeaderField {
  const colon = line.indexOf(':')
  return { name: line.slice(0, colon).toLowerCase(), value: line.slice(colon + 1).trim(), start: 0, end: 0 }
}

interface Leaf {
  readonly type: string
  readonly octets: Buffer
  /** As the part names it. */
  readonly charset: string
  /** It is one of several forms of the same words. */
  readonly isAlternative: boolean
}

/** An entity: a message, or a part of it. */
interface Entity {
  readonly octets: Buffer
  readonly header: HeaderBlock
  readonly end: number
  readonly depth: number
  readonly isAlternative: boolean
}

const maxDepth = 3
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
  return type.name.startsWith('multipart/') ? readMultipart(entity, type, limits) : readLeaf(entity, type)
}

function readMultipart(entity: Entity, type: ContentType, limits: HeaderLimits): readonly Leaf[] | undefined {
  const { octets, header, end, depth } = entity
  const boundary = type.params.get('boundary')
  const isEncoded = !isIdentity(findField(header, 'content-transfer-encoding'))
  if (!boundary || depth >= maxDepth || isEncoded) return undefined
  const parts = splitMultipart(octets, { start: header.bodyStart, end }, boundary)
  const isAlternative = entity.isAlternative || type.name === 'multipart/alternative'
  const leaves: Leaf[] = []
  for (const { start, end: partEnd } of parts ?? []) {
    const partHeader = scanPart(octets, start, limits)
    if (!partHeader || partHeader.bodyStart > partEnd) return undefined
    const part = { octets, header: partHeader, end: partEnd, depth: depth + 1, isAlternative }
    const read = readEntity(part, limits)
    if (!read) return undefined
    leaves.push(...read)
  }
  return parts && leaves
}

function scanPart(octets: Buffer, start: number, limits: HeaderLimits): HeaderBlock | undefined {
  try {
    return scanHeaders(octets, limits, start)
  } catch {
    return undefined
  }
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

interface ContentType {
  readonly name: string
  readonly params: ReadonlyMap<string, string>
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

/** No blanks at the end of a line, and behind each equals sign two hexadecimal digits or a line end. */
const [oddQuote, softBreak, quoted] = [/[ \t](?:[\r\n]|$)|=(?!\r\n|[0-9A-Fa-f]{2})/, /=\r\n/g, /=([0-9A-Fa-f]{2})/g]

function decodeQuotedPrintable(octets: Buffer): Buffer | undefined {
  const text = octets.toString('latin1')
  if (oddQuote.test(text)) return undefined
  const octet = (_: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))
  return Buffer.from(text.replace(softBreak, '').replace(quoted, octet), 'latin1')
}

function decodeBase64Lines(octets: Buffer): Buffer | undefined {
  const text = octets.toString('latin1').replaceAll('\r\n', '')
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined
}

interface Range {
  readonly start: number
  readonly end: number
}

/** No text has more parts. */
const maxParts = 20

/**
 * The parts of a multipart body (RFC 2046 §5.1.1), without the line ends before their delimiters. Undefined unless
 * every delimiter line is exact, and the last one closes.
 */
function splitMultipart(octets: Buffer, range: Range, boundary: string): readonly Range[] | undefined {
  const lines = [...listDelimiters(octets, range, `--${boundary}`)]
  const last = lines.at(-1)
  const isSound =
    lines.length > 1 && lines.length <= maxParts && lines.every(line => line.isClosing === (line === last))
  if (!isSound || !lines.every(line => line.isExact)) return undefined
  return lines.slice(1).map(({ start }, at) => ({ start: lines[at]?.end ?? start, end: start - 2 }))
}

interface DelimiterLine extends Range {
  readonly isClosing: boolean
  /** Nothing is behind the boundary but the mark of the last one, and a line end. */
  readonly isExact: boolean
}

/** The lines that begin like a delimiter. */
function* listDelimiters(octets: Buffer, { start, end }: Range, delimiter: string): Generator<DelimiterLine> {
  for (let at = findDashes(octets, start, start); at >= 0 && at < end; at = findDashes(octets, at + 1, start)) {
    const lf = octets.indexOf(0x0a, at)
    const lineEnd = lf < 0 || lf >= end ? end : lf + 1
    const line = octets.toString('latin1', at, Math.min(lineEnd, at + delimiter.length + 5))
    if (!line.startsWith(delimiter)) continue
    const rest = line.slice(delimiter.length)
    const isClosing = rest.startsWith('--')
    yield { start: at, end: lineEnd, isClosing, isExact: isClosing ? /^--(?:\r\n)?$/.test(rest) : rest === '\r\n' }
  }
}

/** The next line that begins with two dashes. */
function findDashes(octets: Buffer, from: number, start: number): number {
  if (from === start && octets[from] === 0x2d && octets[from + 1] === 0x2d) return from
  const at = octets.indexOf('\r\n--', from - 2)
  return at < 0 ? -1 : at + 2
}
