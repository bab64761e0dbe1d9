// Streams events as server-sent events to a client that may be slow.
import type { Event } from '@ag-ui/core'
import type { BodyReceiver, StreamedBody } from '@postern/http'
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

/** The longest timer of Node, ms. */
const maxTimerMs = 2 ** 31 - 1

const encoder = new TextEncoder()

/** Sends text to one client, and breaks the stream off when the client reads too slowly. */
class EventClient {
  readonly #receiver: BodyReceiver
  #allowedBytes = 0
  /** True after the first events. */
  hasStarted = false

  constructor(receiver: BodyReceiver) {
    this.#receiver = receiver
  }

  write(text: string): void {
    // `Buffer.from` would keep the pool of a small event in memory for a client that reads slowly.
    const bytes = encoder.encode(text)
    this.#receiver.write(bytes)
    // A long conversation is one event and may be sent twice, so a client that has just connected is not slow.
    this.#allowedBytes = this.hasStarted
      ? Math.max(this.#allowedBytes, bytes.byteLength)
      : this.#allowedBytes + bytes.byteLength
    if (this.#receiver.waitingBytes > maxWaitingBytes + this.#allowedBytes)
      this.#receiver.abort(new Error('the client reads too slowly'))
  }
}

function createEventSink(client: EventClient, receiver: BodyReceiver): EventSink {
  return {
    send(event, id) {
      // The id is sent by itself, because clients that split events without reading the standard expect nothing
      // but data.
      client.write(`data: ${toSseJson(event)}\n\n${id === undefined ? '' : `id: ${id}\n\n`}`)
    },
    sendHeartbeat: () => client.write(':\n\n'),
    isFull: () => receiver.waitingBytes > maxWaitingBytes / 4,
    close: () => receiver.end(),
  }
}

/**
 * Streams events as server-sent events with one line of JSON each and LF line ends (AG-UI, transport). `startStream` runs when the reader connects.
 * It returns a function that is called when the reader has disconnected or has read everything, because waiting events occupy memory. The stream
 * ends after `endsInMs`.
 */
export function streamEvents(startStream: (sink: EventSink) => () => void, endsInMs?: number): StreamedBody {
  return receiver => {
    const client = new EventClient(receiver)
    const sink = createEventSink(client, receiver)
    const stopSource = startStream(sink)
    client.hasStarted = true
    const delayMs = endsInMs === undefined ? undefined : Math.min(Math.max(0, endsInMs), maxTimerMs)
    const timer = delayMs === undefined ? undefined : setTimeout(sink.close, delayMs).unref()
    return {
      onClose() {
        clearTimeout(timer)
        stopSource()
      },
    }
  }
}
