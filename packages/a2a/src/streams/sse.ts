import { toSseJson } from '@postern/http'
import type { WireStreamEvent } from '../format/wire.ts'
import type { EventStream, Sink } from './event-stream.ts'

/** How a binding writes what is told into the `data` of an event. */
export interface SseFormat {
  /** The event as JSON; the same bytes for all who are told it. */
  readonly writeEvent: EventWriter
  /** What stands before and behind it in the JSON of one response. */
  readonly frame: readonly [before: string, after: string]
  /** What the client is told when a stream breaks off; undefined: nothing. */
  formatError(error: unknown): string | undefined
  /** Whether events bear their ids, for a client that comes back with `Last-Event-ID`. */
  readonly withIds: boolean
}

export type EventWriter = (event: WireStreamEvent) => Uint8Array

/** Writes each event once, however many hear it: a hundred who read slowly then hold one large artifact, not a hundred. */
export function createEventWriter(toDocument: (event: WireStreamEvent) => object): EventWriter {
  const written = new WeakMap<WireStreamEvent, Uint8Array>()
  return event => {
    const known = written.get(event)
    if (known) return known
    const bytes = Buffer.from(toSseJson(toDocument(event)))
    written.set(event, bytes)
    return bytes
  }
}

/** In the words of 1.0, as events are. */
export const writePlainEvent = createEventWriter(event => event)

/** Bytes that wait for a client who reads slowly; who has more waiting is dropped. */
const maxWaiting = 1024 * 1024
/** So many events may wait however large they are: an answer is told twice, as an artifact and in the status behind it. */
const fewEvents = 2

/** Larger events are passed on in pieces, whose bytes they share; smaller ones at once. */
const copiedBytes = 16 * 1024

const heartbeat = new TextEncoder().encode(':\n\n')

/** Server-sent events (WHATWG HTML §9.2): one `data` line is one event. */
export function renderSse(stream: EventStream, format: SseFormat): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const waiting: (readonly Uint8Array[])[] = []
  let waitingBytes = 0
  let isWanted = false
  let isPassing = false
  let isEnding = false
  let isOver = false
  let leave: (() => void) | undefined
  let controller: ReadableStreamDefaultController<Uint8Array>

  function write(...pieces: readonly Uint8Array[]): void {
    if (isOver || isEnding) return
    if (waitingBytes > maxWaiting && waiting.length > fewEvents) {
      drop()
      return
    }
    const size = sizeOf(pieces)
    waiting.push(size > copiedBytes ? pieces : [Buffer.concat(pieces)])
    waitingBytes += size
    pass()
  }

  function takeWanted(): readonly Uint8Array[] | undefined {
    const next = isWanted ? waiting.shift() : undefined
    if (!next) return undefined
    isWanted = false
    waitingBytes -= sizeOf(next)
    return next
  }

  /** The next event to who reads; behind the last one, the end. */
  function pass(): void {
    // Who has asked twice is asked for more within `enqueue`: the pieces of one event stay together.
    if (isPassing) return
    isPassing = true
    for (let next = takeWanted(); next; next = takeWanted()) for (const piece of next) controller.enqueue(piece)
    isPassing = false
    if (!isEnding || isOver || waiting.length > 0) return
    isOver = true
    controller.close()
  }

  function drop(): void {
    isOver = true
    leave?.()
    waiting.length = 0
    controller.error(Object.assign(new Error('the client reads too slowly'), { code: 'ERR_STREAM_PREMATURE_CLOSE' }))
  }

  const sink: Sink = {
    send(event, id) {
      const place = format.withIds ? `id: ${id}\n` : ''
      const [before, after] = format.frame
      write(encoder.encode(`${place}data: ${before}`), format.writeEvent(event), encoder.encode(`${after}\n\n`))
    },
    beat() {
      if (waiting.length === 0) write(heartbeat)
    },
    end(error) {
      const last = error === undefined ? undefined : format.formatError(error)
      if (last !== undefined) write(encoder.encode(`data: ${last}\n\n`))
      isEnding = true
      pass()
    },
  }

  const source: UnderlyingDefaultSource<Uint8Array> = {
    start(itsController) {
      controller = itsController
      leave = stream.start(sink)
    },
    pull() {
      isWanted = true
      pass()
    },
    cancel() {
      isOver = true
      waiting.length = 0
      leave?.()
    },
  }
  return new ReadableStream(source, { highWaterMark: 0 })
}

function sizeOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}
