// Limits the size of an agent's answer and state in a turn.
import type { Json, Part, PartialResponse } from '@postern/message'
import { isFilePart, maxAnswerBytes } from '@postern/message'

/** The maximum number of parts of one answer. Each piece of a stream is joined with all earlier ones, so the cost grows with their number. */
const maxParts = 5_000

/** The maximum size of the state of one conversation or person, in bytes of JSON. */
const maxStateBytes = 4 * 1024 * 1024

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

/** Returns a state that is small enough to store. @throws Error if it is too large */
export function checkState(state: Json | undefined, ownerName: string): Json | undefined {
  if (state === undefined || (typeof state !== 'object' && typeof state !== 'string')) return state
  const bytes = Buffer.byteLength(JSON.stringify(state))
  if (bytes > maxStateBytes)
    throw new Error(`Cannot keep the state of ${ownerName}: it has ${bytes} bytes as JSON, more than ${maxStateBytes}`)
  return state
}

/** The longest time for which a stream runs without a pause, in ms. A stream that never waits would block the whole process. */
const maxRunMs = 20

/** The pauses between the pieces of a stream, in which the process handles deadlines, cancellations and other turns. */
export class StreamPauses {
  #since = performance.now()

  /** Returns the pause to await; undefined if it is too early for one. */
  findPause(): Promise<void> | undefined {
    if (performance.now() - this.#since < maxRunMs) return undefined
    return new Promise(resolve =>
      setImmediate(() => {
        this.#since = performance.now()
        resolve()
      }),
    )
  }
}
