// Writes the events of a task as server-sent events and ends streams of slow clients.
import type { BodyReceiver, StreamedBody } from '@postern/http'
import { toSseJson } from '@postern/http'
import type { WireStreamEvent } from '../format/wire.ts'

/** The format of server-sent events in one binding. */
export interface SseFormat {
  /** Formats the event as JSON. All listeners share the same bytes. */
  readonly writeEvent: EventWriter
  /** The JSON of a response before and after the event. */
  readonly frame: readonly [before: string, after: string]
  /** Returns the text that the client gets if an error ends the stream, or undefined for none. */
  formatError(error: unknown): string | undefined
  /** True if events have ids, for a client that returns with `Last-Event-ID`. */
  readonly hasIds: boolean
}

export type EventWriter = (event: WireStreamEvent) => Uint8Array

/**
 * Creates a writer that formats each event once for all listeners. A hundred slow readers of a large artifact then use its memory only once.
 */
export function createEventWriter(toDocument: (event: WireStreamEvent) => object): EventWriter {
  const encodedEvents = new WeakMap<WireStreamEvent, Uint8Array>()
  return event => {
    const encodedEvent = encodedEvents.get(event)
    if (encodedEvent) return encodedEvent
    const bytes = Buffer.from(toSseJson(toDocument(event)))
    encodedEvents.set(event, bytes)
    return bytes
  }
}

/** Formats the events of A2A 1.0, which need no conversion. */
export const writePlainEvent = createEventWriter(event => event)

/** The most bytes that may wait for a slow client. Above it, the stream ends. */
export const maxPendingBytes = 1024 * 1024
/** The number of events that may wait regardless of their size, for example a large artifact and the status after it. */
export const minPendingEvents = 2

/** The size up to which events are copied and sent in one chunk. Larger events are sent in chunks that share their bytes. */
const maxCopiedBytes = 16 * 1024

const encoder = new TextEncoder()
const heartbeat = encoder.encode(':\n\n')

interface SseState {
  readonly receiver: BodyReceiver
  readonly pending: (readonly Uint8Array[])[]
  pendingBytes: number
  isSending: boolean
  /** True if the stream ends after the pending events. */
  isEnding: boolean
  hasEnded: boolean
}

/** Renders a stream as server-sent events (WHATWG HTML §9.2). Each event has one `data` line. */
export function renderSse(stream: EventStream, format: SseFormat): StreamedBody {
  return receiver => {
    const state: SseState = {
      receiver,
      pending: [],
      pendingBytes: 0,
      isSending: false,
      isEnding: false,
      hasEnded: false,
    }
    const stopStream = stream.start(createSink(state, format))
    return {
      onReady: () => sendNext(state),
      onClose() {
        const isCutOff = !state.hasEnded
        state.hasEnded = true
        state.pending.length = 0
        if (isCutOff) stopStream()
      },
    }
  }
}

function createSink(state: SseState, format: SseFormat): Sink {
  const [prefix, suffix] = format.frame
  return {
    send(event, id) {
      const idLine = format.hasIds ? `id: ${id}\n` : ''
      const pieces = [
        encoder.encode(`${idLine}data: ${prefix}`),
        format.writeEvent(event),
        encoder.encode(`${suffix}\n\n`),
      ]
      write(pieces, state)
    },
    beat() {
      if (state.pending.length === 0) write([heartbeat], state)
    },
    end(error) {
      const errorText = error === undefined ? undefined : format.formatError(error)
      if (errorText !== undefined) write([encoder.encode(`data: ${errorText}\n\n`)], state)
      state.isEnding = true
      sendNext(state)
    },
  }
}

function write(pieces: readonly Uint8Array[], state: SseState): void {
  if (state.hasEnded || state.isEnding) return
  if (state.pendingBytes > maxPendingBytes && state.pending.length > minPendingEvents) {
    state.receiver.abort(new Error('the client reads too slowly'))
    return
  }
  const size = sizeOf(pieces)
  state.pending.push(size > maxCopiedBytes ? pieces : [Buffer.concat(pieces)])
  state.pendingBytes += size
  sendNext(state)
}

/** Sends the next events while the receiver takes them, or ends the stream after the last one. */
function sendNext(state: SseState): void {
  // The receiver may report that it is ready during a write, but the chunks of one event must stay together.
  if (state.isSending) return
  state.isSending = true
  for (let nextEvent = dequeueIfReady(state); nextEvent; nextEvent = dequeueIfReady(state)) {
    for (const piece of nextEvent) state.receiver.write(piece)
  }
  state.isSending = false
  if (!state.isEnding || state.hasEnded || state.pending.length > 0) return
  state.hasEnded = true
  state.receiver.end()
}

function dequeueIfReady(state: SseState): readonly Uint8Array[] | undefined {
  const nextEvent = state.receiver.isReady ? state.pending.shift() : undefined
  if (nextEvent) state.pendingBytes -= sizeOf(nextEvent)
  return nextEvent
}

function sizeOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}

/** The receiver of a task's events, in order. */
export interface Sink {
  /** Receives an event. `id` is the position after it, from which a caller can continue. */
  send(event: WireStreamEvent, id: string): void
  /** Receives a heartbeat. */
  beat(): void
  /** Ends the stream. `error` is a cause outside of the task. */
  end(error?: unknown): void
}

/** The result of a streaming operation, the same in every binding. */
export class EventStream {
  /** Starts the stream, and returns the function that ends it. */
  readonly start: (sink: Sink) => () => void

  constructor(start: (sink: Sink) => () => void) {
    this.start = start
  }
}
