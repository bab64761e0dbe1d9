import type { FilePart, Part } from '@postern/core'

const signatures: readonly (readonly [mime: string, start: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[\s\S]{4}WEBP/],
  ['image/bmp', /^BM/],
  ['image/tiff', /^(?:II\*\0|MM\0\*)/],
  ['image/avif', /^[\s\S]{4}ftypavi[fs]/],
  ['image/heic', /^[\s\S]{4}ftyphei[cx]/],
  ['image/svg+xml', /^(?:\ufeff|\s)*(?:<\?xml[^>]*>\s*)?<svg[\s>]/],
]

const base64Text = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const dataUrl = /^data:([^;,]*);base64,(.*)$/s

/** The media type of an image, by its first bytes. */
export function detectImageType(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 256)).toString('latin1')
  return signatures.find(([, pattern]) => pattern.test(start))?.[0]
}

/** An image of a swarm message as a file; `undefined` when it is not base64. */
export function readSwarmImage(image: string): FilePart | undefined {
  const [, named, inUrl] = dataUrl.exec(image) ?? []
  const data_base64 = inUrl ?? image
  if (data_base64 === '' || !base64Text.test(data_base64)) return undefined
  const bytes = Buffer.from(data_base64, 'base64')
  const mime = detectImageType(bytes) ?? (named || 'application/octet-stream')
  return { kind: 'file', mime, size: bytes.length, bytes_ref: { kind: 'inline', data_base64 } }
}

/** Those of `parts` whose bytes are at hand. */
export function listInlineImages(parts: readonly Part[]): readonly string[] {
  return parts.flatMap(part =>
    part.kind === 'file' && part.bytes_ref.kind === 'inline' ? [part.bytes_ref.data_base64] : [],
  )
}
