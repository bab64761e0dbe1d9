import { statefulCharsets } from './stateful-charsets.ts'

export function decodeWord(word: string, charset: string, encoding: string, data: string): string {
  const octets = encoding.toLowerCase() === 'b' ? Buffer.from(data, 'base64') : decodeQ(data)
  try {
    const name = charset.split('*')[0] ?? ''
    return statefulCharsets.get(name.toLowerCase())?.(Buffer.from(octets)) ?? new TextDecoder(name).decode(octets)
  } catch {
    return word
  }
}

function decodeQ(data: string): Uint8Array {
  const latin = data
    .replaceAll('_', ' ')
    .replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(latin, 'latin1')
}
