// Decodes the encoded words of header fields (RFC 2047).
import { statefulCharsets } from './stateful-charsets.ts'

const wordPattern = /=\?([!-<>@-Z^-~]{1,40})\?([bq])\?([!->@-~]*)\?=/gi
/** The maximum number of encoded words in one value. No honest value has more words. */
const maxWords = 2000

/** Charsets whose words each begin and end in ASCII. The decoder would treat two shifts in a row between joined words as an attack. */
const shiftingCharsetPattern = /^(?:cs)?iso-?2022|^hz/

/** Adjacent encoded words of one charset, and their position in the value. */
interface WordRun {
  readonly charset: string
  readonly octets: Uint8Array[]
  readonly start: number
  end: number
}

/**
 * Decodes the encoded words of a header value. White space between two encoded words is dropped (RFC 2047 §6.2).
 * Against §5, some programs split words inside a character, so the octets of adjacent words in one charset are joined
 * before they are decoded.
 */
export function decodeWords(value: string): string {
  if (!value.includes('=?')) return value
  const pieces: string[] = []
  let end = 0
  for (const run of listRuns(value)) {
    const separator = value.slice(end, run.start)
    pieces.push(end > 0 && separator.trim() === '' ? '' : separator, decodeRun(run, value))
    end = run.end
  }
  return pieces.join('') + value.slice(end)
}

function listRuns(value: string): readonly WordRun[] {
  const runs: WordRun[] = []
  let wordCount = 0
  for (const { 0: word, 1: charsetName = '', 2: encoding = '', 3: data = '', index } of value.matchAll(wordPattern)) {
    wordCount += 1
    if (wordCount > maxWords) break
    // A language may follow the charset (RFC 2231 §5).
    const charset = (charsetName.split('*')[0] ?? '').toLowerCase()
    const octets = encoding.toLowerCase() === 'b' ? Buffer.from(data, 'base64') : decodeQ(data)
    const lastRun = runs.at(-1)
    if (
      lastRun?.charset === charset &&
      !shiftingCharsetPattern.test(charset) &&
      value.slice(lastRun.end, index).trim() === ''
    ) {
      lastRun.octets.push(octets)
      lastRun.end = index + word.length
    } else {
      runs.push({ charset, octets: [octets], start: index, end: index + word.length })
    }
  }
  return runs
}

/** Decodes a run of encoded words. Words in an unknown charset are unchanged. */
function decodeRun({ charset, octets, start, end }: WordRun, value: string): string {
  try {
    const joinedOctets = Buffer.concat(octets)
    return statefulCharsets.get(charset)?.(joinedOctets) ?? new TextDecoder(charset).decode(joinedOctets)
  } catch {
    return value.slice(start, end)
  }
}

function decodeQ(data: string): Uint8Array {
  const latin1Text = data
    .replaceAll('_', ' ')
    .replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(latin1Text, 'latin1')
}
