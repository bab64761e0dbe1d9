import type { BytesRef, FilePart, Json, Part } from '@postern/core'
import { parseUrl } from '@postern/core'
import type { AguiPart } from './message.ts'

const base64Text = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Parts of a message as ours. Bytes that only the client can name (an opaque file id) stay residue. */
export function readAguiParts(content: string | readonly AguiPart[]): readonly Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', mime: 'text/plain', content }]
  return content.map(readAguiPart).filter(part => part !== undefined)
}

/** Parts of ours as a message's content. One text is a string; parts without a form there are described in words. */
export function writeAguiParts(parts: readonly Part[]): Json {
  if (parts.length === 0) return ''
  const [only] = parts
  if (parts.length === 1 && only?.kind === 'text') return only.content
  return parts.map(writeAguiPart)
}

function readAguiPart(part: AguiPart): Part | undefined {
  if (part.type === 'text') return { kind: 'text', mime: 'text/plain', content: part.text }
  if (part.type === 'binary') return readBinary(part)
  const { source } = part
  if (source.type === 'data') return readInline(source.value, source.mimeType)
  return source.type === 'url' ? readLinked(source.value, source.mimeType) : undefined
}

function readBinary(part: Extract<AguiPart, { type: 'binary' }>): Part | undefined {
  const file = part.url === undefined ? readInline(part.data ?? '', part.mimeType) : readLinked(part.url, part.mimeType)
  return file?.kind === 'file' && part.filename !== undefined ? { ...file, name: part.filename } : file
}

function readInline(data_base64: string, mime: string): FilePart | undefined {
  if (data_base64 === '' || !base64Text.test(data_base64)) return undefined
  return { kind: 'file', mime, bytes_ref: { kind: 'inline', data_base64 } }
}

function readLinked(url: string, mime: string | undefined): Part {
  if (!parseUrl(url)) return { kind: 'link', url }
  return { kind: 'file', ...(mime !== undefined && { mime }), bytes_ref: { kind: 'url', url } }
}

function writeAguiPart(part: Part): Json {
  if (part.kind === 'text') return { type: 'text', text: part.content }
  if (part.kind === 'file' || part.kind === 'artifact') return writeFile(part.mime, part.bytes_ref, part.name)
  if (part.kind === 'link') return { type: 'text', text: part.title ? `${part.title}: ${part.url}` : part.url }
  return { type: 'text', text: part.kind === 'policy' ? part.policy.message : '' }
}

function writeFile(mime: string | undefined, ref: BytesRef, name: string | undefined): Json {
  const [family = ''] = (mime ?? '').split('/')
  const type = family === 'image' || family === 'audio' || family === 'video' ? family : 'document'
  const mimeType = mime ?? 'application/octet-stream'
  if (ref.kind === 'inline') return { type, source: { type: 'data', value: ref.data_base64, mimeType } }
  if (ref.url !== undefined) return { type, source: { type: 'url', value: ref.url, mimeType } }
  return { type: 'text', text: name ?? mimeType }
}
