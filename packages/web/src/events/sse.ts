// Streams events as server-sent events to a client that may be slow.
import type { Event } from '@ag-ui/core'
import { toSseJson } from '@postern/http'

export interface EventSink {
  /** Sends an event. A client names the last `id` that it has read in `Last-Event-ID`. */
  send(event: Event, id?: string): void
  beat(): void
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

/**
 * Streams events as server-sent events with one line of JSON each and LF line ends (AG-UI, transport). `open` runs when the reader connects. It
 * returns a function that is called when the reader has disconnected or has read everything, because waiting events occupy memory. The stream ends
 * after `endsInMs`.
 */
export function streamEvents(
  startStream: (sink: EventSink) => () => void,
  endsInMs?: number,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let stopStream: (() => void) | undefined
  let isOver = false
  let endWhenSent: (() => void) | undefined
  let allowedBytes = 0
  let timer: NodeJS.Timeout | undefined
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const write = (text: string) => {
          if (isOver || endWhenSent) return
          const bytes = encoder.encode(text)
          controller.enqueue(bytes)
          // A long conversation is one event and may be sent twice, so a client that has just connected is not slow.
          allowedBytes = stopStream ? Math.max(allowedBytes, bytes.byteLength) : allowedBytes + bytes.byteLength
          if ((controller.desiredSize ?? 0) > -maxWaitingBytes - allowedBytes) return
          isOver = true
          controller.error(new Error('the client reads too slowly'))
          stopStream?.()
        }
        const sink: EventSink = {
          send(event, id) {
            write(`data: ${toSseJson(event)}\n\n`)
            // The id is sent by itself, because clients that split events without reading the standard expect nothing
            // but data.
            if (id !== undefined) write(`id: ${id}\n\n`)
          },
          beat: () => write(':\n\n'),
          isFull: () => (controller.desiredSize ?? 0) < -maxWaitingBytes / 4,
          close() {
            endWhenSent ??= () => {
              if (isOver || (controller.desiredSize ?? 0) < highWaterMarkBytes) return
              isOver = true
              controller.close()
              stopStream?.()
            }
            endWhenSent()
          },
        }
        const stopSource = startStream(sink)
        stopStream = () => {
          clearTimeout(timer)
          stopSource()
        }
        if (endsInMs !== undefined) timer = setTimeout(sink.close, Math.min(Math.max(0, endsInMs), maxTimerMs)).unref()
        if (isOver) stopStream()
      },
      pull: () => endWhenSent?.(),
      cancel() {
        isOver = true
        stopStream?.()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: highWaterMarkBytes }),
  )
}
