// Limits the size of an agent's answer in a turn.
import type { Part, PartialResponse } from '@postern/message'
import { isFilePart, maxAnswerBytes } from '@postern/message'

/** The maximum number of parts of one answer. Each piece of a stream is joined with all earlier ones, so the cost grows with their number. */
const maxParts = 5_000

/** The size of an answer so far. */
export class AnswerSize {
  #bytes = 0
  #parts = 0

  /** Counts one piece and returns it. @throws Error if the answer is now too large */
  count(piece: PartialResponse): PartialResponse {
    const { parts = [], ...otherMembers } = piece
    for (const part of parts) this.#bytes += sizeOf(part)
    this.#parts += parts.filter(({ kind }) => kind !== 'text').length
    if (Object.keys(otherMembers).length > 0) this.#bytes += Buffer.byteLength(JSON.stringify(otherMembers))
    if (this.#bytes > maxAnswerBytes)
      throw new Error(`The answer of ${this.#bytes} bytes is larger than ${maxAnswerBytes} bytes`)
    if (this.#parts > maxParts) throw new Error(`The answer has more than ${maxParts} parts`)
    return piece
  }
}

/** Returns the size of a part without the inline bytes of a file, which have their own limit. */
function sizeOf(part: Part): number {
  if (part.kind === 'text') return Buffer.byteLength(part.content)
  if (!isFilePart(part) || part.bytes_ref.kind !== 'inline') return Buffer.byteLength(JSON.stringify(part))
  return Buffer.byteLength(JSON.stringify({ ...part, bytes_ref: undefined }))
}
