// Distributes message parts over pieces of limited length.
import type { Part, TextPart } from '@postern/message'
import { readPostText } from '../html/read-note.ts'
import type { Cut, MaxCharsOfPiece } from './cut-text.ts'
import { cutPlain } from './cut-text.ts'

interface PackOptions {
  /** The most characters in a piece. */
  readonly maxChars: number
  /** The most pieces. The last piece has no limit of characters. */
  readonly maxPieces: number
  /** Returns the displayed length of parts. It may stop once the count exceeds `max`. */
  measure(parts: readonly Part[], max: number): number
  /** The cut for Markdown. If it is undefined, Markdown is cut like plain text. */
  readonly cutMarkdown: Cut | undefined
}

/** The length of the separator between the texts of two parts. */
const separatorLength = 2

/** Packs parts into pieces. A part goes into the current piece if it fits. A text that does not fit is cut. Any other part begins a new piece. */
export function packParts(parts: readonly Part[], options: PackOptions): readonly (readonly Part[])[] {
  const { maxChars, maxPieces, measure } = options
  const pieces: Part[][] = [[]]
  let usedChars = 0

  /** Returns the limits of the pieces from piece `at`, of which `used` characters are in use. */
  function limitsFrom(pieceIndex: number): MaxCharsOfPiece {
    const remainingChars = maxChars - usedChars - (usedChars > 0 ? separatorLength : 0)
    return piece =>
      pieceIndex + piece >= maxPieces - 1 ? Number.POSITIVE_INFINITY : piece === 0 ? remainingChars : maxChars
  }

  function append(part: Part, length: number): void {
    pieces.at(-1)?.push(part)
    usedChars += length + (usedChars > 0 ? separatorLength : 0)
  }

  function beginPiece(part: Part, length: number): void {
    if (pieces.at(-1)?.length === 0) pieces.pop()
    pieces.push([part])
    usedChars = length
  }

  function addText(part: TextPart, limits: MaxCharsOfPiece): void {
    const [firstFragment, ...otherFragments] = cutTextPart(part, limits, options.cutMarkdown)
    if (firstFragment?.part.content) append(firstFragment.part, firstFragment.length)
    for (const { part: nextPart, length } of otherFragments) {
      if (nextPart.content) beginPiece(nextPart, length)
    }
  }

  for (const part of parts) {
    const limits = limitsFrom(pieces.length - 1)
    const limit = limits(0)
    const length = measure([part], limit)
    if (length === 0 || length <= limit) append(part, length)
    else if (part.kind === 'text') addText(part, limits)
    else beginPiece(part, length)
  }
  return pieces
}

/** Cuts a text part. HTML is cut as the text that it displays. */
function cutTextPart(part: TextPart, limits: MaxCharsOfPiece, cutMarkdown: Cut | undefined) {
  const { mime, content } = part
  if (mime === 'text/markdown' && cutMarkdown) {
    const trim = (text: string) => text.replace(/^(?:[ \t]*\n)+/, '').trimEnd()
    return cutMarkdown(content, limits).map(({ text, length }) => ({ part: { ...part, content: trim(text) }, length }))
  }
  const plainText = mime === 'text/html' ? readPostText(content).text : content
  return cutPlain(plainText.replace(/\r\n?/g, '\n'), limits).map(({ text, length }) => ({
    part: { ...part, mime: 'text/plain' as const, content: text.trim() },
    length,
  }))
}
