import type { EventStream, WireStreamEvent } from './event.ts'

/** How a binding writes what is told into the `data` of an event. */
export interface SseFormat {
  formatEvent(event: WireStreamEvent): string
  /** What the client is told when a stream breaks off; undefined: nothing. */
  formatError(error: unknown): string | undefined
  /** Whether events bear their ids, for a client that comes back with `Last-Event-ID`. */
  readonly withIds: boolean
}

export const sseHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-store',
  // Proxies hold small answers back otherwise.
  'x-accel-buffering': 'no',
} as const

/** Bytes that wait for a client who reads slowly; who has more waiting is dropped. */
const maxWaiting = 1024 * 1024

const heartbeat = new TextEncoder().encode(':\n\n')

/** Server-sent events (WHATWG HTML §9.2). JSON holds no line breaks, so that one `data` line is one event. */
export function renderSse(stream: EventStream, format: SseFormat): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let leave: (() => void) | undefined
  let isOver = false

  function begin(controller: ReadableStreamDefaultController<Uint8Array>): void {
    const write = (bytes: Uint8Array) => {
      if (isOver) return
      if ((controller.desiredSize ?? 0) > 0) controller.enqueue(bytes)
      else drop(controller)
    }
    leave = stream.start({
      send(event, id) {
        const place = format.withIds ? `id: ${id}\n` : ''
        write(encoder.encode(`${place}data: ${format.formatEvent(event)}\n\n`))
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
