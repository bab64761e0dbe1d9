import type { Event } from '@ag-ui/core'

export const sseHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-store',
  // Proxies hold small answers back otherwise.
  'x-accel-buffering': 'no',
} as const

export interface EventSink {
  send(event: Event): void
  beat(): void
  /** So much waits that pieces had better be left for the end: then they are one. */
  isFull(): boolean
  close(): void
}

/** Bytes that wait for a client who reads slowly, beside the largest event; who has more waiting is left. */
const maxWaiting = 4 * 1024 * 1024

/** One JSON event a `data` line, LF only (AG-UI, transport). `open` is told when somebody reads, and gives what to do when he leaves. */
export function streamEvents(open: (sink: EventSink) => () => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let leave: (() => void) | undefined
  let isOver = false
  let largest = 0
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const write = (text: string) => {
          if (isOver) return
          const bytes = encoder.encode(text)
          controller.enqueue(bytes)
          // A long conversation is one event: who has just come is not slow.
          largest = Math.max(largest, bytes.byteLength)
          if ((controller.desiredSize ?? 0) > -maxWaiting - largest) return
          isOver = true
          controller.error(new Error('the client reads too slowly'))
          leave?.()
        }
        leave = open({
          send: event => write(`data: ${JSON.stringify(event)}\n\n`),
          beat: () => write(':\n\n'),
          isFull: () => (controller.desiredSize ?? 0) < -maxWaiting / 4,
          close() {
            if (isOver) return
            isOver = true
            controller.close()
          },
        })
        if (isOver) leave()
      },
      cancel() {
        isOver = true
        leave?.()
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 64 * 1024 }),
  )
}
