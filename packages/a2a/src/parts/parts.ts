import { hash } from 'node:crypto'
import type { ArtifactPart, Blob, FilePart, Json, LinkPart, Part, PolicyPart, TextPart } from '@postern/core'
import { isJsonObject, parseJsonText } from '@postern/core'
import type { WirePart } from '../format/wire.ts'

/** The default type of a part, which the card also declares. */
const impliedTypes = {
  text: 'text/plain',
  raw: 'application/octet-stream',
  url: 'application/octet-stream',
  data: 'application/json',
} as const

type PartContent = keyof typeof impliedTypes

/** Marks an artifact whose bytes are one JSON value, so that it is sent as `data` again. */
const dataArtifact = 'data'

const textTypes: ReadonlySet<string> = new Set<TextPart['mime']>(['text/plain', 'text/markdown', 'text/html'])

/** Which of its four contents a checked part has. `data` may be null, so its presence decides. */
export function contentOf(part: WirePart): PartContent {
  if (typeof part.text === 'string') return 'text'
  if (typeof part.raw === 'string') return 'raw'
  return typeof part.url === 'string' ? 'url' : 'data'
}

/** `type/subtype` of a part in lower case, without parameters. */
export function mediaTypeOf(part: WirePart): string {
  const [type = ''] = (part.mediaType ?? '').split(';')
  return type.trim().toLowerCase() || impliedTypes[contentOf(part)]
}

/** A2A parts → ours. Bytes are stored by their digest. `data` keeps its exact JSON. */
export function readParts(wire: readonly WirePart[]) {
  const blobs: Blob[] = []
  const parts = wire.map(part => readers[contentOf(part)](part, blobs))
  return { parts, blobs }
}

type PartReader = (part: WirePart, blobs: Blob[]) => Part

const readers: Readonly<Record<PartContent, PartReader>> = {
  text: part => readLink(part) ?? readText(part),
  raw: readBytes,
  url: readUrl,
  data: readJson,
}

/** A link that its writer noted as one. If it is no web address, it stays text. */
function readLink(part: WirePart): LinkPart | undefined {
  const { kind, url, title, description } = readPartNote(part)
  if (kind !== 'link' || !url || !/^https?:$/.test(URL.parse(url)?.protocol ?? '')) return undefined
  return { kind, url, ...(title && { title }), ...(description && { description }) }
}

/** Text of a type that we do not know is still text for an agent. */
function readText(part: WirePart): TextPart {
  const mime = part.mediaType ? mediaTypeOf(part) : impliedTypes.text
  return {
    kind: 'text',
    mime: (textTypes.has(mime) ? mime : 'text/plain') as TextPart['mime'],
    content: part.text ?? '',
  }
}

function readBytes(part: WirePart, blobs: Blob[]): FilePart | ArtifactPart {
  const bytes = Buffer.from(part.raw ?? '', 'base64')
  const digest = hash('sha256', bytes)
  blobs.push({ digest, bytes, mime: mediaTypeOf(part) })
  const ref = { kind: 'content_addressed', algo: 'sha256', digest } as const
  return { ...kindOf(part), ...labelOf(part), size: bytes.length, bytes_ref: ref }
}

function readUrl(part: WirePart): FilePart | ArtifactPart {
  return { ...kindOf(part), ...labelOf(part), bytes_ref: { kind: 'url', url: part.url ?? '' } }
}

function readJson(part: WirePart): ArtifactPart {
  const data = part.data ?? null
  const data_base64 = Buffer.from(JSON.stringify(data)).toString('base64')
  return {
    kind: 'artifact',
    artifact_type: readPartNote(part).artifact_type ?? dataArtifact,
    ...labelOf(part),
    mime: mediaTypeOf(part),
    data,
    bytes_ref: { kind: 'inline', data_base64 },
  }
}

/** The name is a label for people and never a path. */
function labelOf(part: WirePart): { name?: string; mime?: string; description?: string } {
  const { filename, mediaType } = part
  const { description } = readPartNote(part)
  return {
    ...(filename && { name: filename }),
    ...(mediaType && { mime: mediaType }),
    ...(description && { description }),
  }
}

function kindOf(part: WirePart): { kind: 'file' } | Pick<ArtifactPart, 'kind' | 'artifact_type'> {
  const { kind, artifact_type } = readPartNote(part)
  return kind === 'artifact' ? { kind, ...(artifact_type && { artifact_type }) } : { kind: 'file' }
}

type ToolCall = Extract<Part, { kind: 'tool_call' }>

/** A tool call of an agent as data parts (Mentionable, A2A tool events v0.1). Its begin and end have the same id. */
function writeToolEvent({ id, name, args, result, error }: ToolCall): WirePart {
  const call = { toolCallId: id, toolName: name, ...(args !== undefined && { input: args as Json }) }
  return {
    data: { ...describeEnd(result, error), ...call },
    mediaType: 'application/json',
    metadata: { mentionable: { kind: 'tool_call' } },
  }
}

function describeEnd(result: unknown, error: ToolCall['error']): { readonly [name: string]: Json } {
  if (error) return { type: 'tool-error', error: { message: error.message } }
  return result === undefined ? { type: 'tool-call' } : { type: 'tool-result', output: result as Json }
}

const endings: Readonly<Record<string, (data: Readonly<Record<string, unknown>>) => Partial<ToolCall>>> = {
  'tool-call': () => ({}),
  'tool-result': ({ output }) => ({ result: output ?? null }),
  'tool-error': ({ error }) => ({
    error: { message: isJsonObject(error) && typeof error.message === 'string' ? error.message : '' },
  }),
}

/** Undefined if the part is no tool event. */
export function readToolEvent({ data }: WirePart): ToolCall | undefined {
  if (!isJsonObject(data) || typeof data.type !== 'string' || typeof data.toolCallId !== 'string') return undefined
  const end = Object.hasOwn(endings, data.type) ? endings[data.type] : undefined
  const name = typeof data.toolName === 'string' ? data.toolName : ''
  const args = data.input === undefined ? {} : { args: data.input }
  return end && { kind: 'tool_call', id: data.toolCallId, name, ...args, ...end(data) }
}

/** Known bytes, by digest, as base64. */
export type KnownBytes = ReadonlyMap<string, string>

const noBytes: KnownBytes = new Map()

/** Our parts → A2A parts. Parts that A2A lacks become `data` of their own kind, so that nothing is lost. */
export function writeParts(parts: readonly Part[], known: KnownBytes = noBytes): readonly WirePart[] {
  return parts.flatMap(part => (part.kind === 'policy' ? writePolicy(part) : writePart(part, known)))
}

function writePart(part: Part, known: KnownBytes): WirePart {
  const write = Object.hasOwn(writers, part.kind) ? (writers[part.kind] as PartWriter<Part>) : writeAsData
  return write(part, known)
}

type PartWriter<P> = (part: P, known: KnownBytes) => WirePart

const writers: { readonly [Kind in Part['kind']]: PartWriter<Extract<Part, { kind: Kind }>> } = {
  text: ({ mime, content }) => ({ text: content, mediaType: mime }),
  link: ({ url, title, description }) => ({
    text: title ? `${title}: ${url}` : url,
    mediaType: 'text/plain',
    ...writePartNote({ kind: 'link', url, title, description }),
  }),
  file: writeFile,
  artifact: writeFile,
  tool_call: writeToolEvent,
  policy: writeAsData,
}

function writeFile(part: FilePart | ArtifactPart, known: KnownBytes): WirePart {
  const { bytes_ref: ref, name, mime } = part
  const label = { ...(name && { filename: name }), ...(mime && { mediaType: mime }), ...noteFile(part) }
  if (part.kind === 'artifact' && part.data !== undefined) return { data: part.data, ...label }
  if (ref.kind === 'url') return { url: ref.url, ...label }
  if (ref.kind === 'inline') return { ...(readInlineData(part) ?? { raw: ref.data_base64 }), ...label }
  const raw = known.get(ref.digest)
  if (raw !== undefined) return { raw, ...label }
  return ref.url ? { url: ref.url, ...label } : writeAsData(part)
}

function noteFile(part: FilePart | ArtifactPart) {
  const { kind, description } = part
  const type = kind === 'artifact' && part.artifact_type !== dataArtifact ? part.artifact_type : undefined
  return type === undefined && !description ? {} : writePartNote({ kind, artifact_type: type, description })
}

function readInlineData(part: FilePart | ArtifactPart): { data: Json } | undefined {
  if (part.kind !== 'artifact' || part.artifact_type !== dataArtifact) return undefined
  if (part.bytes_ref.kind !== 'inline') return undefined
  try {
    return { data: parseJsonText(Buffer.from(part.bytes_ref.data_base64, 'base64').toString()) as Json }
  } catch {
    return undefined
  }
}

/** Text for clients without the extension: why the agent stops, and where a person can resolve it. */
function writePolicy(part: PolicyPart): readonly WirePart[] {
  const { title, message, url, action_label } = part.policy
  const link = url && (action_label ? `${action_label}: ${url}` : url)
  const text = [title, message, link].filter(Boolean).join('\n')
  return [{ text, mediaType: 'text/plain' }, writeAsData(part)]
}

function writeAsData(part: Part): WirePart {
  return {
    data: part as unknown as Json,
    mediaType: 'application/json',
    metadata: { mentionable: { kind: part.kind } },
  }
}

/** Members of our parts that A2A's parts lack. They are in the family's namespace. */
interface PartNote {
  readonly kind: 'file' | 'artifact' | 'link'
  readonly artifact_type?: string | undefined
  readonly description?: string | undefined
  readonly url?: string | undefined
  readonly title?: string | undefined
}

const members = ['artifact_type', 'description', 'url', 'title'] as const
const kinds: ReadonlySet<unknown> = new Set(['file', 'artifact', 'link'])
const mostChars = 4_096

function writePartNote(note: PartNote): Pick<WirePart, 'metadata'> {
  const said = Object.entries(note).filter(([, value]) => value !== undefined)
  return { metadata: { mentionable: Object.fromEntries(said) } }
}

/** The writer's note of a part. Members that are no short text are ignored. */
function readPartNote({ metadata }: WirePart): Partial<PartNote> {
  const noted = isJsonObject(metadata?.mentionable) ? metadata.mentionable : {}
  if (!kinds.has(noted.kind)) return {}
  const texts = members.flatMap(name => {
    const value = noted[name]
    return typeof value === 'string' && value !== '' && value.length <= mostChars ? [[name, value] as const] : []
  })
  return { kind: noted.kind as PartNote['kind'], ...Object.fromEntries(texts) }
}
