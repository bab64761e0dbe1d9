// Bounds what one agent may say and keep in a turn, whatever its kind.
import type { Json, Part, PartialResponse } from '@postern/message'
import { isFilePart, maxAnswerBytes } from '@postern/message'

/** Parts of one answer at most: each piece of a stream is joined with all before it. */
const maxParts = 5_000

/** Bytes of the state of one conversation, or of one person, as JSON. */
const maxStateBytes = 4 * 1024 * 1024

/** The size of an answer so far. */
export class AnswerSize {
  #bytes = 0
  #parts = 0

  /** Counts one piece, and returns it. @throws Error when the answer is too large */
  count(piece: PartialResponse): PartialResponse {
    const { parts = [], ...others } = piece
    for (const part of parts) this.#bytes += sizeOf(part)
    this.#parts += parts.filter(({ kind }) => kind !== 'text').length
    if (Object.keys(others).length > 0) this.#bytes += Buffer.byteLength(JSON.stringify(others))
    if (this.#bytes > maxAnswerBytes)
      throw new Error(`The answer of ${this.#bytes} bytes is larger than ${maxAnswerBytes} bytes`)
    if (this.#parts > maxParts) throw new Error(`The answer has more than ${maxParts} parts`)
    return piece
  }
}

/** Bytes of a file have bounds of their own. */
function sizeOf(part: Part): number {
  if (part.kind === 'text') return Buffer.byteLength(part.content)
  if (!isFilePart(part) || part.bytes_ref.kind !== 'inline') return Buffer.byteLength(JSON.stringify(part))
  return Buffer.byteLength(JSON.stringify({ ...part, bytes_ref: undefined }))
}

/** Returns a state that is small enough to keep. @throws Error for a larger one */
export function checkState(state: Json | undefined, whose: string): Json | undefined {
  if (state === undefined || (typeof state !== 'object' && typeof state !== 'string')) return state
  const bytes = Buffer.byteLength(JSON.stringify(state))
  if (bytes > maxStateBytes)
    throw new Error(`Cannot keep the state of ${whose}: it has ${bytes} bytes as JSON, more than ${maxStateBytes}`)
  return state
}

/** A stream that never waits keeps the process from everything else: it pauses after this long, ms. */
const breathMs = 20

/** Lets the process go on between the pieces of a stream, so that deadlines, cancels and other turns are seen. */
export class Breath {
  #since = performance.now()

  /** Returns what to wait for; undefined as long as there is time. */
  take(): Promise<void> | undefined {
    if (performance.now() - this.#since < breathMs) return undefined
    return new Promise(resolve =>
      setImmediate(() => {
        this.#since = performance.now()
        resolve()
      }),
    )
  }
}
