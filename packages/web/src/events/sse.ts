import type { Event } from '@ag-ui/core'
import { toSseJson } from '@postern/http'

export interface EventSink {
  send(event: Event): void
  beat(): void
  /** So much waits that pieces had better be left for the end: then they are one. */
  isFull(): boolean
  /** When all of it is taken; until then its client counts as one who reads. */
  close(): void
}

/** Bytes that wait for a client who reads slowly, beside what it begins with and the largest event; who has more waiting is left. */
const maxWaiting = 4 * 1024 * 1024
const atOnce = 64 * 1024

/**
 * One JSON event a `data` line, LF only (AG-UI, transport). `open` is told when somebody reads, and gives what to do when he has left, or has
 * all of it: what waits for him takes room until then.
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
          // A long conversation is one event, and may be told twice: who has just come is not slow.
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
