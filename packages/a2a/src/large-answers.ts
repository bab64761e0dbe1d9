import { Rejection } from '@postern/core'

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

export interface AnswerBounds {
  /** What is shorter, in characters, is not counted. */
  readonly largeFrom: number
  /** Bytes held for one caller. */
  readonly perCaller: number
  /** Bytes held in all. */
  readonly all: number
}

const usualBounds: AnswerBounds = { largeFrom: 512 * 1024, perCaller: 96 * 1024 * 1024, all: 384 * 1024 * 1024 }
const pieceBytes = 256 * 1024
const noHeaders: Lengths = {}

const usualRefusal = 'Cannot answer: earlier answers have not been taken yet'

export function createLargeAnswers(
  { largeFrom, perCaller, all }: AnswerBounds = usualBounds,
  refusal = usualRefusal,
): LargeAnswers {
  const heldFor = new Map<string, number>()
  let held = 0

  /** A first answer is given however large it is: else it could never be had. */
  function take(owner: string, bytes: number): void {
    const before = heldFor.get(owner) ?? 0
    if (before > 0 && (before + bytes > perCaller || held + bytes > all)) {
      const retryAfter = 5
      throw new Rejection('rate_limited', refusal, { retryAfter })
    }
    heldFor.set(owner, before + bytes)
    held += bytes
  }

  function giveBack(owner: string, bytes: number): void {
    held -= bytes
    const left = (heldFor.get(owner) ?? 0) - bytes
    if (left > 0) heldFor.set(owner, left)
    else heldFor.delete(owner)
  }

  function hold(bytes: number, owner: string): () => void {
    if (bytes < largeFrom) return () => {}
    take(owner, bytes)
    let isHeld = true
    return () => {
      if (isHeld) giveBack(owner, bytes)
      isHeld = false
    }
  }

  return {
    hold,
    open(text, owner) {
      if (text.length < largeFrom) return { body: text, headers: noHeaders }
      const bytes = Buffer.from(text)
      take(owner, bytes.length)
      const body = pour(bytes, () => giveBack(owner, bytes.length))
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
