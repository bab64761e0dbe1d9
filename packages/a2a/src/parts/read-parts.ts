import { hash } from 'node:crypto'
import type { ArtifactPart, Blob, FilePart, LinkPart, Part, TextPart } from '@postern/core'
import type { WirePart } from '../format/wire.ts'
import { readPartNote } from './part-note.ts'

/** The default type of a part, which the card also declares. */
const impliedTypes = {
  text: 'text/plain',
  raw: 'application/octet-stream',
  url: 'application/octet-stream',
  data: 'application/json',
} as const

type PartContent = keyof typeof impliedTypes

/** Marks an artifact whose bytes are one JSON value, so that it is sent as `data` again. */
export const dataArtifact = 'data'

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

interface PartsWithBlobs {
  readonly parts: readonly Part[]
  readonly blobs: readonly Blob[]
}

/** A2A parts → ours. Bytes are stored by their digest. `data` keeps its exact JSON. */
export function readParts(wire: readonly WirePart[]): PartsWithBlobs {
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
