import type { Part, TextPart } from '@postern/core'
import { readPostText } from '../html/note-reading.ts'
import type { Cut, PieceLimits } from './cut-text.ts'
import { cutPlain } from './cut-text.ts'

interface Packing {
  /** The maximum of characters in a piece. */
  readonly limit: number
  /** The last piece has no limit. */
  readonly maxPieces: number
  /** Length of parts as they are shown; counting may stop beyond `max`. */
  measure(parts: readonly Part[], max: number): number
  /** Without it markdown is cut as the plain text it is written in. */
  readonly cutMarkdown: Cut | undefined
}

/** Between the texts of two parts. */
const gap = 2

/** Parts go into the piece that is begun while they fit; a text that does not is cut, another part begins a new piece. */
export function packParts(parts: readonly Part[], packing: Packing): readonly (readonly Part[])[] {
  const { limit, maxPieces, measure } = packing
  const pieces: Part[][] = [[]]
  let used = 0

  /** The capacity as seen from piece `at`, of which `used` is in use. */
  function limitsFrom(at: number): PieceLimits {
    const left = limit - used - (used > 0 ? gap : 0)
    return piece => (at + piece >= maxPieces - 1 ? Number.POSITIVE_INFINITY : piece === 0 ? left : limit)
  }

  function append(part: Part, length: number): void {
    pieces.at(-1)?.push(part)
    used += length + (used > 0 ? gap : 0)
  }

  function begin(part: Part, length: number): void {
    if (pieces.at(-1)?.length === 0) pieces.pop()
    pieces.push([part])
    used = length
  }

  function placeText(part: TextPart, limits: PieceLimits): void {
    const [first, ...more] = cutTextPart(part, limits, packing.cutMarkdown)
    if (first?.part.content) append(first.part, first.length)
    for (const { part: next, length } of more) {
      if (next.content) begin(next, length)
    }
  }

  for (const part of parts) {
    const limits = limitsFrom(pieces.length - 1)
    const limit = limits(0)
    const length = measure([part], limit)
    if (length === 0 || length <= limit) append(part, length)
    else if (part.kind === 'text') placeText(part, limits)
    else begin(part, length)
  }
  return pieces
}

/** HTML is cut as the text it shows. */
function cutTextPart(part: TextPart, limits: PieceLimits, cutMarkdown: Cut | undefined) {
  const { mime, content } = part
  if (mime === 'text/markdown' && cutMarkdown) {
    const trim = (text: string) => text.replace(/^(?:[ \t]*\n)+/, '').trimEnd()
    return cutMarkdown(content, limits).map(({ text, length }) => ({ part: { ...part, content: trim(text) }, length }))
  }
  const plain = mime === 'text/html' ? readPostText(content).text : content
  return cutPlain(plain.replace(/\r\n?/g, '\n'), limits).map(({ text, length }) => ({
    part: { ...part, mime: 'text/plain' as const, content: text.trim() },
    length,
  }))
}
