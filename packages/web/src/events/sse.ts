import type { Event } from '@ag-ui/core'
import { toSseJson } from '@postern/http'

export interface EventSink {
  send(event: Event): void
  beat(): void
  /** True when so much waits that the rest should come as one piece at the end. */
  isFull(): boolean
  /** Ends the stream once the client has read everything. Until then the client counts as connected. */
  close(): void
}

/** Bytes that may wait for a slow client, beside its first events and the largest event. Beyond that the stream ends. */
const maxWaiting = 4 * 1024 * 1024
const atOnce = 64 * 1024

/**
 * One JSON event a `data` line, LF only (AG-UI, transport). `open` runs when a reader comes. It returns what to call when the reader has
 * left or has read everything, because what waits for a reader takes memory.
 */
export function streamEvents(open: (sink: EventSink) => () => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let leave: (() => void) | undefined
  let isOver = false
  let endWhenTaken: (() => void) | undefined
  let allowed = 0
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const write = (text: string) => {
          if (isOver || endWhenTaken) return
          const bytes = encoder.encode(text)
          controller.enqueue(bytes)
          // A long conversation is one event and may come twice, so a client that has just come is not slow.
          allowed = leave ? Math.max(allowed, bytes.byteLength) : allowed + bytes.byteLength
          if ((controller.desiredSize ?? 0) > -maxWaiting - allowed) return
          isOver = true
          controller.error(new Error('the client reads too slowly'))
          leave?.()
        }
        leave = open({
          send: event => write(`data: ${toSseJson(event)}\n\n`),
          beat: () => write(':\n\n'),
          isFull: () => (controller.desiredSize ?? 0) < -maxWaiting / 4,
          close() {
            endWhenTaken ??= () => {
              if (isOver || (controller.desiredSize ?? 0) < atOnce) return
              isOver = true
              controller.close()
              leave?.()
            }
            endWhenTaken()
          },
        })
        if (isOver) leave()
      },
      pull: () => endWhenTaken?.(),
      cancel() {
        isOver = true
        leave?.()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: atOnce }),
  )
}
