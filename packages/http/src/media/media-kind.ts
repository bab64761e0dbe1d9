import { parseMediaType } from '@postern/http'

/** Beginnings of files as hexadecimal digits, by what they are. */
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

/** What bytes are, by their beginning; text when they are UTF-8 without control characters. */
export function detectMedia(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 32)).toString('hex')
  const found = signatures.find(([, start]) => start.test(head))
  return found?.[0] ?? (isText(bytes) ? 'text/plain' : 'application/octet-stream')
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

/** Whether a list such as `image/*, application/pdf` has this type. */
export function admitsMedia(types: readonly string[], mime: string): boolean {
  return types.some(type => type === mime || (type.endsWith('/*') && mime.startsWith(type.slice(0, -1))))
}

/** Media that browsers and peers show; none that a browser runs. */
const shownTypes: ReadonlySet<string> = new Set([
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

/** The type to serve stored bytes under, which may come from strangers: known media as they are, anything else as a download. */
export function findServedType(mime: string | undefined): { readonly type: string; readonly isShown: boolean } {
  const type = mime === undefined ? undefined : parseMediaType(mime)?.type
  const isShown = type !== undefined && shownTypes.has(type)
  return { type: isShown ? type : 'application/octet-stream', isShown }
}
