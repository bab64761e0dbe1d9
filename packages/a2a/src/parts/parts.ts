import { hash } from 'node:crypto'
import type { ArtifactPart, Blob, FilePart, Json, Part, PolicyPart } from '@postern/core'
import { isJsonObject, parseJsonText } from '@postern/core'
import type { WirePart } from '../format/wire.ts'
import type { PartContent } from '../validate/params.ts'
import { mediaTypeOf } from '../validate/params.ts'

/** Marks an artifact whose bytes are one JSON value, so that it is sent as `data` again. */
const dataArtifact = 'data'

/** A part that is no text, with its writer's note. */
interface NotedPart {
  readonly part: WirePart
  readonly note: Partial<PartNote>
  readonly blobs: Blob[]
}

export const fileReaders: Readonly<Record<Exclude<PartContent, 'text'>, (noted: NotedPart) => Part>> = {
  raw: readBytes,
  url: readUrl,
  data: readJson,
}

function readBytes({ part, note, blobs }: NotedPart): FilePart | ArtifactPart {
  const bytes = Buffer.from(part.raw ?? '', 'base64')
  const digest = hash('sha256', bytes)
  blobs.push({ digest, bytes, mime: mediaTypeOf(part) })
  const ref = { kind: 'content_addressed', algo: 'sha256', digest } as const
  return { ...kindOf(note), ...labelOf(part, note), size: bytes.length, bytes_ref: ref }
}

function readUrl({ part, note }: NotedPart): FilePart | ArtifactPart {
  return { ...kindOf(note), ...labelOf(part, note), bytes_ref: { kind: 'url', url: part.url ?? '' } }
}

function readJson({ part, note }: NotedPart): ArtifactPart {
  const data = part.data ?? null
  const data_base64 = Buffer.from(JSON.stringify(data)).toString('base64')
  return {
    kind: 'artifact',
    artifact_type: note.artifact_type ?? dataArtifact,
    ...labelOf(part, note),
    mime: mediaTypeOf(part),
    data,
    bytes_ref: { kind: 'inline', data_base64 },
  }
}

/** The name is a label for people and never a path. */
function labelOf(
  { filename, mediaType }: WirePart,
  { description }: Partial<PartNote>,
): { name?: string; mime?: string; description?: string } {
  return {
    ...(filename && { name: filename }),
    ...(mediaType && { mime: mediaType }),
    ...(description && { description }),
  }
}

function kindOf({
  kind,
  artifact_type,
}: Partial<PartNote>): { kind: 'file' } | Pick<ArtifactPart, 'kind' | 'artifact_type'> {
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

/** Everything but text. */
export function writeOtherPart(part: Part, known: KnownBytes): WirePart | readonly WirePart[] {
  const write = Object.hasOwn(writers, part.kind) ? (writers[part.kind as OtherKind] as PartWriter<Part>) : writeAsData
  return write(part, known)
}

type OtherKind = Exclude<Part['kind'], 'text'>
type PartWriter<P> = (part: P, known: KnownBytes) => WirePart | readonly WirePart[]

const writers: { readonly [Kind in OtherKind]: PartWriter<Extract<Part, { kind: Kind }>> } = {
  link: ({ url, title, description }) => ({
    text: title ? `${title}: ${url}` : url,
    mediaType: 'text/plain',
    ...writePartNote({ kind: 'link', url, title, description }),
  }),
  file: writeFile,
  artifact: writeFile,
  tool_call: writeToolEvent,
  policy: writePolicy,
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
export interface PartNote {
  readonly kind: 'file' | 'artifact' | 'link'
  readonly artifact_type?: string | undefined
  readonly description?: string | undefined
  readonly url?: string | undefined
  readonly title?: string | undefined
}

function writePartNote(note: PartNote): Pick<WirePart, 'metadata'> {
  const said = Object.entries(note).filter(([, value]) => value !== undefined)
  return { metadata: { mentionable: Object.fromEntries(said) } }
}
