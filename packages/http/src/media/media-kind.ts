// Detects the media type of bytes, and chooses the types under which the gateway serves files.
import { parseMediaType } from '@postern/http'

/** Beginnings of files as hexadecimal digits, with their media types. */
const signatures: readonly (readonly [mime: string, start: RegExp])[] = [
  ['image/jpeg', /^ffd8ff/],
  ['image/png', /^89504e470d0a1a0a/],
  ['image/gif', /^47494638(?:37|39)61/],
  ['image/webp', /^52494646.{8}57454250/],
  ['image/avif', /^.{8}6674797061766966/],
  ['application/pdf', /^255044462d/],
  ['audio/wav', /^.{16}57415645/],
  ['audio/flac', /^664c6143/],
  ['audio/ogg', /^4f676753/],
  ['audio/mpeg', /^(?:494433|fffb)/],
  ['video/webm', /^1a45dfa3/],
  ['video/mp4', /^.{8}66747970/],
  ['application/zip', /^504b0304/],
]

/** Returns the media type of bytes by their beginning. UTF-8 without control characters is `text/plain`. */
export function detectMedia(bytes: Uint8Array): string {
  const hexStart = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 32)).toString('hex')
  const signature = signatures.find(([, start]) => start.test(hexStart))
  return signature?.[0] ?? (isText(bytes) ? 'text/plain' : 'application/octet-stream')
}

function isText(bytes: Uint8Array): boolean {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, 64 * 1024), { stream: true })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what text does not have
    return text.length > 0 && !/[\x00-\x08\x0e-\x1f]/.test(text)
  } catch {
    return false
  }
}

/** Returns true if a list such as `image/*, application/pdf` contains this type. */
export function admitsMedia(types: readonly string[], mime: string): boolean {
  return types.some(type => type === mime || (type.endsWith('/*') && mime.startsWith(type.slice(0, -1))))
}

/** The media types that browsers and peers show. Browsers run none of them as code. */
const inlineTypes: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'video/mp4',
  'video/webm',
  'audio/mpeg',
  'audio/ogg',
  'audio/wav',
  'audio/flac',
  'audio/mp4',
])

/** Returns the type under which stored bytes are served. They may come from strangers, so only known media keep their type. */
export function findServedType(mime: string | undefined): { readonly type: string; readonly isInline: boolean } {
  const type = mime === undefined ? undefined : parseMediaType(mime)?.type
  const isInline = type !== undefined && inlineTypes.has(type)
  return { type: isInline ? type : 'application/octet-stream', isInline }
}
