import { createByteBudget } from '@postern/limits'

/**
 * Answers that are large are held until the client has taken them, which it may put off: so many bytes are held for one
 * caller at a time, and so many in all.
 */
export interface LargeAnswers {
  /**
   * The body of an answer; a small one as it is.
   * @throws Rejection `rate_limited` when too much is held already
   */
  open(text: string, owner: string): { readonly body: string | ReadableStream<Uint8Array>; readonly headers: Lengths }
  /**
   * Counts so many bytes as held; returns the function that ends it, which may be called twice.
   * @throws Rejection `rate_limited` when too much is held already
   */
  hold(bytes: number, owner: string): () => void
}

type Lengths = Readonly<Record<string, string>>

interface AnswerBounds {
  /** What is shorter, in characters, is not counted. */
  readonly largeFrom: number
  /** Bytes held for one caller. */
  readonly perCaller: number
  /** Bytes held in all. */
  readonly all: number
}

const mib = 1024 * 1024
const usualBounds: AnswerBounds = { largeFrom: 512 * 1024, perCaller: 64 * mib, all: 128 * mib }
const pieceBytes = 256 * 1024
const noHeaders: Lengths = {}
const refusal = 'Cannot answer: earlier answers have not been taken yet'

/** A first answer is given however large it is, while no other is held: else it could never be had. */
export function createLargeAnswers({ largeFrom, perCaller, all }: AnswerBounds = usualBounds): LargeAnswers {
  const budget = createByteBudget({ total: all, perOwner: perCaller, refusal })

  function hold(bytes: number, owner: string): () => void {
    if (bytes < largeFrom) return () => {}
    const held = budget.hold(owner)
    try {
      held.add(bytes)
    } catch (error) {
      held.release()
      throw error
    }
    return held.release
  }

  return {
    hold,
    open(text, owner) {
      if (text.length < largeFrom) return { body: text, headers: noHeaders }
      const bytes = Buffer.from(text)
      const body = pour(bytes, hold(bytes.length, owner))
      return { body, headers: { 'content-length': String(bytes.length) } }
    },
  }
}

/** Piece by piece, as they are taken; `finish` when all are, or nobody wants them any more. */
function pour(bytes: Uint8Array, finish: () => void): ReadableStream<Uint8Array> {
  let at = 0
  const source: UnderlyingDefaultSource<Uint8Array> = {
    pull(controller) {
      controller.enqueue(bytes.subarray(at, at + pieceBytes))
      at += pieceBytes
      if (at < bytes.length) return
      finish()
      controller.close()
    },
    cancel: finish,
  }
  return new ReadableStream(source, { highWaterMark: 0 })
}
