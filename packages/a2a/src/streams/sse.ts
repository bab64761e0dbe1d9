import type { EventStream, WireStreamEvent } from './event.ts'

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
    const bytes = Buffer.from(JSON.stringify(toDocument(event)))
    written.set(event, bytes)
    return bytes
  }
}

/** In the words of 1.0, as events are. */
export const writePlainEvent = createEventWriter(event => event)

export const sseHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-store',
  // Proxies hold small answers back otherwise.
  'x-accel-buffering': 'no',
} as const

/** Bytes that wait for a client who reads slowly; who has more waiting is dropped. */
const maxWaiting = 1024 * 1024

/** Larger pieces are passed on as they are, smaller ones together. */
const copiedBytes = 16 * 1024

const heartbeat = new TextEncoder().encode(':\n\n')

/** Server-sent events (WHATWG HTML §9.2). JSON holds no line breaks, so that one `data` line is one event. */
export function renderSse(stream: EventStream, format: SseFormat): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let leave: (() => void) | undefined
  let isOver = false

  function begin(controller: ReadableStreamDefaultController<Uint8Array>): void {
    const write = (...pieces: readonly Uint8Array[]) => {
      if (isOver) return
      if ((controller.desiredSize ?? 0) <= 0) return drop(controller)
      for (const piece of pieces) controller.enqueue(piece)
    }
    leave = stream.start({
      send(event, id) {
        const place = format.withIds ? `id: ${id}\n` : ''
        const [before, after] = format.frame
        const bytes = format.writeEvent(event)
        const pieces = [encoder.encode(`${place}data: ${before}`), bytes, encoder.encode(`${after}\n\n`)]
        if (bytes.length > copiedBytes) write(...pieces)
        else write(Buffer.concat(pieces))
      },
      beat: () => write(heartbeat),
      end(error) {
        const last = error === undefined ? undefined : format.formatError(error)
        if (last !== undefined) write(encoder.encode(`data: ${last}\n\n`))
        if (isOver) return
        isOver = true
        controller.close()
      },
    })
  }

  function drop(controller: ReadableStreamDefaultController<Uint8Array>): void {
    isOver = true
    leave?.()
    controller.error(Object.assign(new Error('the client reads too slowly'), { code: 'ERR_STREAM_PREMATURE_CLOSE' }))
  }

  return new ReadableStream(
    {
      start: begin,
      cancel() {
        isOver = true
        leave?.()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: maxWaiting }),
  )
}
