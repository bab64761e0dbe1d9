import { statefulCharsets } from './stateful-charsets.ts'
import { withoutInvisible } from './visible-text.ts'

const wordPattern = /=\?([!-)+-<>@-Z^-~]{1,40})\?([bq])\?([!->@-~]*)\?=/gi
const between = /(\?=)[ \t]+(?==\?)/g
/** No program reads more than this; RFC 2047 allows 75 characters a word. */
const maxWords = 2000

/**
 * The text of a header value with encoded words (RFC 2047): control characters become spaces, and invisible ones
 * disappear.
 */
export function decodeHeaderText(value: string): string {
  return withoutInvisible(withoutControls(decodeWords(value))).trim()
}

/** Whether a header value has invisible characters that can carry words for machines. */
export function hidesInHeader(value: string): boolean {
  const text = withoutControls(decodeWords(value))
  return withoutInvisible(text) !== text
}

function decodeWords(value: string): string {
  if (!value.includes('=?')) return value
  let words = 0
  return value.replace(between, '$1').replace(wordPattern, (word, charset: string, encoding: string, data: string) => {
    words += 1
    return words > maxWords ? word : decodeWord(word, charset, encoding, data)
  })
}

/** Text that is safe in one header line: controls, line ends and direction overrides become single spaces. */
export function withoutControls(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim()
}

function decodeWord(word: string, charset: string, encoding: string, data: string): string {
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
