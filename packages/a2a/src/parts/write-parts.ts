import type { ArtifactPart, FilePart, Json, Part, PolicyPart } from '@postern/core'
import { parseJsonText } from '@postern/core'
import type { WirePart } from '../format/wire.ts'
import { writePartNote } from './part-note.ts'
import { dataArtifact } from './read-parts.ts'
import { writeToolEvent } from './tool-events.ts'

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
