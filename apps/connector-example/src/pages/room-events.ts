import type { Context } from 'hono'
import { streamSSE } from 'hono/streaming'
import type { Room, RoomEntry } from '../rooms/rooms.ts'
import type { Viewer } from './page.ts'
import { renderEntry } from './page.ts'

interface RoomListening {
  readonly room: Room
  readonly viewer: Viewer
  /** The last revision that the reader has. */
  readonly after: number
  readonly closing: AbortSignal
  leave(): void
}

const heartbeatMs = 20_000

/**
 * What is new in a room, as it comes (server-sent events): each entry as HTML of the page, for this viewer. Who reads slowly
 * misses what was changed again in between, and costs no memory.
 */
export function streamEntries(context: Context, { room, viewer, after, closing, leave }: RoomListening): Response {
  context.header('x-accel-buffering', 'no')
  return streamSSE(context, async stream => {
    const gone = new AbortController()
    stream.onAbort(() => gone.abort())
    const signal = AbortSignal.any([gone.signal, closing])
    const write = async ({ id, revision }: RoomEntry, html: string) =>
      stream.writeSSE({ event: 'entry', id: String(revision), data: JSON.stringify({ id: `e-${id}`, html }) })
    // Of a time before our restart: then nothing is known.
    let known = after > room.revision() ? 0 : after
    try {
      while (!signal.aborted) {
        const seen = room.revision()
        for (const entry of room.after(known)) {
          await write(entry, String(await renderEntry(entry, `/rooms/${room.name}`, viewer)))
        }
        known = seen
        if (room.revision() > known) continue
        await waitForChange(room, signal)
        if (room.revision() === known) await stream.write(': here\n\n')
      }
    } finally {
      leave()
    }
  })
}

/** Or for the time at which a line has to be sent, so that nobody takes the stream for dead. */
function waitForChange(room: Room, signal: AbortSignal): Promise<void> {
  return room.changed(AbortSignal.any([signal, AbortSignal.timeout(heartbeatMs)]))
}
