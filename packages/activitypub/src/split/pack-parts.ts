// Distributes message parts over pieces of limited length.
import type { Part, TextPart } from '@postern/message'
import { readPostText } from '../html/read-note.ts'
import type { Cut, MaxCharsOfPiece } from './cut-text.ts'
import { cutPlain } from './cut-text.ts'

interface PackOptions {
  /** The maximum number of characters in a piece. */
  readonly maxChars: number
  /** The maximum number of pieces. The last piece has no limit of characters. */
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
  const packer = new PiecePacker(options)
  for (const part of parts) {
    const findLimit = packer.createLimitFinder()
    const remainingChars = findLimit(0)
    const length = options.measure([part], remainingChars)
    if (length === 0 || length <= remainingChars) packer.append(part, length)
    else if (part.kind === 'text') packer.appendText(part, findLimit)
    else packer.beginPiece(part, length)
  }
  return packer.pieces
}

/** The pieces that are packed so far. New parts go into the last piece. */
class PiecePacker {
  readonly pieces: Part[][] = [[]]
  readonly #options: PackOptions
  /** The characters in the last piece. */
  #usedChars = 0

  constructor(options: PackOptions) {
    this.#options = options
  }

  /** Returns the function that finds the limit of a piece, counted from the last piece on. For the last piece, the limit is the number of characters that still fit. */
  createLimitFinder(): MaxCharsOfPiece {
    const { maxChars, maxPieces } = this.#options
    const lastIndex = this.pieces.length - 1
    const remainingChars = maxChars - this.#usedChars - this.#separatorChars()
    return piece => {
      if (lastIndex + piece >= maxPieces - 1) return Number.POSITIVE_INFINITY
      return piece === 0 ? remainingChars : maxChars
    }
  }

  append(part: Part, length: number): void {
    this.pieces.at(-1)?.push(part)
    this.#usedChars += length + this.#separatorChars()
  }

  beginPiece(part: Part, length: number): void {
    if (this.pieces.at(-1)?.length === 0) this.pieces.pop()
    this.pieces.push([part])
    this.#usedChars = length
  }

  /** Cuts a text, appends its first fragment to the last piece, and begins a piece for each other fragment. */
  appendText(part: TextPart, limits: MaxCharsOfPiece): void {
    const [firstFragment, ...otherFragments] = cutTextPart(part, limits, this.#options.cutMarkdown)
    if (firstFragment?.part.content) this.append(firstFragment.part, firstFragment.length)
    for (const fragment of otherFragments) {
      if (fragment.part.content) this.beginPiece(fragment.part, fragment.length)
    }
  }

  #separatorChars(): number {
    return this.#usedChars > 0 ? separatorLength : 0
  }
}

/** Cuts a text part. HTML is cut as its displayed text. */
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
