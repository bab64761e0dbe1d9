import type { Part, TextPart } from '@postern/core'
import { readPostText } from '../html/to-text.ts'
import type { Cut, OperationDeps } from './cut.ts'
import { cutPlain } from './cut-text.ts'

interface Packing {
  /** Characters a piece takes. */
  readonly limit: number
  /** The last piece takes everything. */
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

  /** Seen from piece `at`, of which `used` is taken. */
  function roomsFrom(at: number): OperationDeps {
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

  function placeText(part: TextPart, deps: OperationDeps): void {
    const [first, ...more] = cutTextPart(part, deps, packing.cutMarkdown)
    if (first?.part.content) append(first.part, first.length)
    for (const { part: next, length } of more) {
      if (next.content) begin(next, length)
    }
  }

  for (const part of parts) {
    const deps = roomsFrom(pieces.length - 1)
    const room = deps(0)
    const length = measure([part], limit)
    if (length === 0 || length <= room) append(part, length)
    else if (part.kind === 'text') placeText(part, deps)
    else begin(part, length)
  }
  return pieces
}

interface CutPart {
  readonly part: TextPart
  readonly length: number
}

/** HTML is cut as the text it shows. */
function cutTextPart(part: TextPart, deps: OperationDeps, cutMarkdown: Cut | undefined): readonly CutPart[] {
  const { mime, content } = part
  if (mime === 'text/markdown' && cutMarkdown) {
    const trim = (text: string) => text.replace(/^(?:[ \t]*\n)+/, '').trimEnd()
    return cutMarkdown(content, deps).map(({ text, length }) => ({ part: { ...part, content: trim(text) }, length }))
  }
  const plain = mime === 'text/html' ? readPostText(content).text : content
  return cutPlain(plain.replace(/\r\n?/g, '\n'), deps).map(({ text, length }) => ({
    part: { ...part, mime: 'text/plain', content: text.trim() },
    length,
  }))
}
