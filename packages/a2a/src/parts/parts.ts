// Converts files, links, data and tool events between A2A parts and the gateway's parts.
import { hash } from 'node:crypto'
import type { ArtifactPart, FilePart, Json, Part, PolicyPart } from '@postern/message'
import { completeDataPart, dataArtifact, isJsonObject, parseJsonText, toWellFormed } from '@postern/message'
import type { Blob } from '@postern/pipeline'
import type { PartContent } from '../format/part-content.ts'
import { mediaTypeOf } from '../format/part-content.ts'
import type { WirePart } from '../format/wire.ts'

/** A part that is not text, with its writer's note. */
interface PartWithNote {
  readonly part: WirePart
  readonly note: Partial<PartNote>
  readonly blobs: Blob[]
}

export const fileReaders: Readonly<Record<Exclude<PartContent, 'text'>, (part: PartWithNote) => Part>> = {
  raw: readBytes,
  url: readUrl,
  data: readData,
}

function readBytes({ part, note, blobs }: PartWithNote): FilePart | ArtifactPart {
  const bytes = Buffer.from(part.raw ?? '', 'base64')
  const digest = hash('sha256', bytes)
  blobs.push({ digest, bytes, mime: mediaTypeOf(part) })
  const ref = { kind: 'content_addressed', algo: 'sha256', digest } as const
  return { ...kindOf(note), ...labelOf(part, note), size: bytes.length, bytes_ref: ref }
}

function readUrl({ part, note }: PartWithNote): FilePart | ArtifactPart {
  const url = part.url ?? ''
  // An agent may pass on an address such as `gs://…` only if it is marked as a peer's choice.
  const foreign = !/^https?:/i.test(url)
  return { ...kindOf(note), ...labelOf(part, note), bytes_ref: { kind: 'url', url, ...(foreign && { foreign }) } }
}

function readData({ part, note }: PartWithNote): ArtifactPart {
  // The data must be well-formed, because its bytes are made before the message is made well-formed.
  const data = toWellFormed(part.data ?? null)
  const { artifact_type } = note
  return completeDataPart({ kind: 'artifact', artifact_type, ...labelOf(part, note), mime: mediaTypeOf(part), data })
}

/** Returns the label of a part. The name is for people and is never used as a path. */
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

/** Writes a tool call of an agent as a data part (Mentionable, A2A tool events v0.1). The call and its result have the same id. */
function writeToolEvent({ id, name, args, result, error }: ToolCall): WirePart {
  const call = { toolCallId: id, toolName: name, ...(args !== undefined && { input: args as Json }) }
  return {
    data: { ...describeOutcome(result, error), ...call },
    mediaType: 'application/json',
    metadata: { mentionable: { kind: 'tool_call' } },
  }
}

function describeOutcome(result: unknown, error: ToolCall['error']): { readonly [name: string]: Json } {
  if (error) return { type: 'tool-error', error: { message: error.message } }
  return result === undefined ? { type: 'tool-call' } : { type: 'tool-result', output: result as Json }
}

const toolEventReaders: Readonly<Record<string, (data: Readonly<Record<string, unknown>>) => Partial<ToolCall>>> = {
  'tool-call': () => ({}),
  'tool-result': ({ output }) => ({ result: output ?? null }),
  'tool-error': ({ error }) => ({
    error: { message: isJsonObject(error) && typeof error.message === 'string' ? error.message : '' },
  }),
}

/** Reads a tool event. Returns undefined if the part is not one. */
export function readToolEvent({ data }: WirePart): ToolCall | undefined {
  if (!isJsonObject(data) || typeof data.type !== 'string' || typeof data.toolCallId !== 'string') return undefined
  const readOutcome = Object.hasOwn(toolEventReaders, data.type) ? toolEventReaders[data.type] : undefined
  const name = typeof data.toolName === 'string' ? data.toolName : ''
  const args = data.input === undefined ? {} : { args: data.input }
  return readOutcome && { kind: 'tool_call', id: data.toolCallId, name, ...args, ...readOutcome(data) }
}

/** The known bytes as base64, by digest. */
export type BytesByDigest = ReadonlyMap<string, string>

/** Writes a part of any kind except text. */
export function writeOtherPart(part: Part, bytesByDigest: BytesByDigest): WirePart | readonly WirePart[] {
  const write = Object.hasOwn(partWriters, part.kind)
    ? (partWriters[part.kind as OtherKind] as PartWriter<Part>)
    : writeAsData
  return write(part, bytesByDigest)
}

type OtherKind = Exclude<Part['kind'], 'text'>
type PartWriter<P> = (part: P, bytesByDigest: BytesByDigest) => WirePart | readonly WirePart[]

const partWriters: { readonly [Kind in OtherKind]: PartWriter<Extract<Part, { kind: Kind }>> } = {
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

function writeFile(part: FilePart | ArtifactPart, bytesByDigest: BytesByDigest): WirePart {
  const { bytes_ref: ref, name, mime } = part
  const label = { ...(name && { filename: name }), ...(mime && { mediaType: mime }), ...noteFile(part) }
  if (part.kind === 'artifact' && part.data !== undefined) return { data: part.data, ...label }
  if (ref.kind === 'url') return { url: ref.url, ...label }
  if (ref.kind === 'inline') return { ...(readInlineData(part) ?? { raw: ref.data_base64 }), ...label }
  const raw = bytesByDigest.get(ref.digest)
  if (raw !== undefined) return { raw, ...label }
  return ref.url ? { url: ref.url, ...label } : writeAsData(part)
}

function noteFile(part: FilePart | ArtifactPart) {
  const { kind, description, bytes_ref: ref } = part
  const type = kind === 'artifact' && part.artifact_type !== dataArtifact ? part.artifact_type : undefined
  const foreign = (ref.kind === 'url' && ref.foreign) || undefined
  if (type === undefined && !description && !foreign) return {}
  return writePartNote({ kind, artifact_type: type, description, foreign })
}

function readInlineData(part: FilePart | ArtifactPart): { data: Json } | undefined {
  if (part.kind !== 'artifact' || part.artifact_type !== dataArtifact) return undefined
  if (part.bytes_ref.kind !== 'inline') return undefined
  try {
    return { data: toWellFormed(parseJsonText(Buffer.from(part.bytes_ref.data_base64, 'base64').toString()) as Json) }
  } catch {
    return undefined
  }
}

/** Writes a policy part, and its text for clients without the extension, so that a person can read the requirement and follow its link. */
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

/** The members of our parts that A2A's parts lack. They are in the namespace of Mentionable. */
export interface PartNote {
  readonly kind: 'file' | 'artifact' | 'link'
  readonly artifact_type?: string | undefined
  readonly description?: string | undefined
  readonly url?: string | undefined
  readonly title?: string | undefined
  /** True if a peer chose the file's address. */
  readonly foreign?: boolean | undefined
}

function writePartNote(note: PartNote): Pick<WirePart, 'metadata'> {
  const presentMembers = Object.entries(note).filter(([, value]) => value !== undefined)
  return { metadata: { mentionable: Object.fromEntries(presentMembers) } }
}
