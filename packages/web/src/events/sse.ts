// Streams events as server-sent events to a client that may be slow.
import type { Event } from '@ag-ui/core'
import { toSseJson } from '@postern/http'

export interface EventSink {
  /** Sends an event. A client names the last `id` that it has read in `Last-Event-ID`. */
  send(event: Event, id?: string): void
  sendHeartbeat(): void
  /** Returns true if so many bytes are waiting that the remaining text should be sent as one piece at the end. */
  isFull(): boolean
  /** Ends the stream once the client has read everything. The client counts as connected until then. */
  close(): void
}

/**
 * The maximum number of bytes that wait for a slow client, besides its first events and the largest event. Beyond it, the stream
 * ends.
 */
const maxWaitingBytes = 4 * 1024 * 1024

const highWaterMarkBytes = 64 * 1024

/** The longest timer of Node, ms. */
const maxTimerMs = 2 ** 31 - 1

/** The text that waits for one client. The queue ends when the client has read everything, reads too slowly, or has disconnected. */
class SseQueue {
  readonly #controller: ReadableStreamDefaultController<Uint8Array>
  readonly #encoder = new TextEncoder()
  #allowedBytes = 0
  #isClosing = false
  #hasEnded = false
  #onEnd: (() => void) | undefined

  constructor(controller: ReadableStreamDefaultController<Uint8Array>) {
    this.#controller = controller
  }

  get freeBytes(): number {
    return this.#controller.desiredSize ?? 0
  }

  write(text: string): void {
    if (this.#hasEnded || this.#isClosing) return
    const bytes = this.#encoder.encode(text)
    this.#controller.enqueue(bytes)
    // A long conversation is one event and may be sent twice, so a client that has just connected is not slow.
    this.#allowedBytes = this.#onEnd
      ? Math.max(this.#allowedBytes, bytes.byteLength)
      : this.#allowedBytes + bytes.byteLength
    if (this.freeBytes > -maxWaitingBytes - this.#allowedBytes) return
    this.#controller.error(new Error('the client reads too slowly'))
    this.end()
  }

  /** Refuses further text, and closes the stream once the client has read everything. */
  close(): void {
    this.#isClosing = true
    this.closeIfRead()
  }

  closeIfRead(): void {
    if (!this.#isClosing || this.#hasEnded || this.freeBytes < highWaterMarkBytes) return
    this.#controller.close()
    this.end()
  }

  end(): void {
    this.#hasEnded = true
    this.#onEnd?.()
  }

  /** Sets the function that runs at the end of the queue, or runs it at once if the queue has ended. The first events of the client precede this call. */
  setOnEnd(onEnd: () => void): void {
    this.#onEnd = onEnd
    if (this.#hasEnded) onEnd()
  }
}

function createEventSink(queue: SseQueue): EventSink {
  return {
    send(event, id) {
      queue.write(`data: ${toSseJson(event)}\n\n`)
      // The id is sent by itself, because clients that split events without reading the standard expect nothing
      // but data.
      if (id !== undefined) queue.write(`id: ${id}\n\n`)
    },
    sendHeartbeat: () => queue.write(':\n\n'),
    isFull: () => queue.freeBytes < -maxWaitingBytes / 4,
    close: () => queue.close(),
  }
}

/**
 * Streams events as server-sent events with one line of JSON each and LF line ends (AG-UI, transport). `startStream` runs when the reader connects.
 * It returns a function that is called when the reader has disconnected or has read everything, because waiting events occupy memory. The stream
 * ends after `endsInMs`.
 */
export function streamEvents(
  startStream: (sink: EventSink) => () => void,
  endsInMs?: number,
): ReadableStream<Uint8Array> {
  let queue: SseQueue | undefined
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const clientQueue = new SseQueue(controller)
        queue = clientQueue
        const sink = createEventSink(clientQueue)
        const stopSource = startStream(sink)
        const delayMs = endsInMs === undefined ? undefined : Math.min(Math.max(0, endsInMs), maxTimerMs)
        const timer = delayMs === undefined ? undefined : setTimeout(sink.close, delayMs).unref()
        clientQueue.setOnEnd(() => {
          clearTimeout(timer)
          stopSource()
        })
      },
      pull: () => queue?.closeIfRead(),
      cancel: () => queue?.end(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: highWaterMarkBytes }),
  )
}
