import { lazy } from '@postern/core/lazy'
import type { HeaderBlock, HeaderLimits } from '../../mail/header-scan.ts'
import { findField, scanHeaders } from '../../mail/header-scan.ts'
import { splitMultipart } from './split-multipart.ts'
import { decodeTransfer, isIdentity } from './transfer-encodings.ts'

/** The readings of a message without files. */
interface SimpleMime {
  readonly text?: string | undefined
  readonly html?: string | undefined
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
export async function readSimpleMime(
  octets: Buffer,
  header: HeaderBlock,
  limits: HeaderLimits,
): Promise<SimpleMime | undefined> {
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

const loadCharsets = lazy(() => import('../../text/charsets.ts'))

function isLight(html: string): boolean {
  return (
    html.length <= maxHtml &&
    html.split('<', maxTags + 1).length <= maxTags &&
    html.split('{', maxRules + 1).length <= maxRules
  )
}

interface LeafText {
  readonly type: string
  readonly text: string
}

function join(leaves: readonly LeafText[], wanted: string, between: string): string | undefined {
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
