// Writes the events of a task as server-sent events and ends streams of slow clients.
import type { BodyReceiver, StreamedBody } from '@postern/http'
import { toSseJson } from '@postern/http'
import type { WireStreamEvent } from '../format/wire.ts'

/** The format of server-sent events in one binding. */
export interface SseFormat {
  /** Formats the event as JSON. */
  readonly writeEvent: EventWriter
  /** The JSON of a response before and after the event. */
  readonly frame: readonly [before: string, after: string]
  /** Returns the text that the client gets if an error ends the stream, or undefined for none. */
  formatError(error: unknown): string | undefined
  /** True if events have ids, for a client that returns with `Last-Event-ID`. */
  readonly hasIds: boolean
}

/** Formats an event as text, or as bytes that all listeners share if it is large. */
export type EventWriter = (event: WireStreamEvent) => string | Uint8Array

/** The number of characters up to which each listener gets a copy of an event, in one piece with the frame around it. */
const maxCopiedChars = 16 * 1024

/**
 * Creates a writer that formats each event once for all listeners. A hundred slow readers of a large artifact then use its memory only once.
 */
export function createEventWriter(toDocument: (event: WireStreamEvent) => object): EventWriter {
  const writtenEvents = new WeakMap<WireStreamEvent, string | Uint8Array>()
  return event => {
    const writtenEvent = writtenEvents.get(event)
    if (writtenEvent !== undefined) return writtenEvent
    const json = toSseJson(toDocument(event))
    const newEvent = json.length > maxCopiedChars ? Buffer.from(json) : json
    writtenEvents.set(event, newEvent)
    return newEvent
  }
}

/** Formats the events of A2A 1.0, which need no conversion. */
export const writePlainEvent = createEventWriter(event => event)

/** The most bytes that may wait for a slow client. Above it, the stream ends. */
export const maxPendingBytes = 1024 * 1024
/** The number of events that may wait regardless of their size, for example a large artifact and the status after it. */
export const minPendingEvents = 2

const heartbeat = Buffer.from(':\n\n')

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
      const [start, end] = [`${idLine}data: ${prefix}`, `${suffix}\n\n`]
      const content = format.writeEvent(event)
      const pieces =
        typeof content === 'string'
          ? [Buffer.from(start + content + end)]
          : [Buffer.from(start), content, Buffer.from(end)]
      write(pieces, state)
    },
    beat() {
      if (state.pending.length === 0) write([heartbeat], state)
    },
    end(error) {
      const errorText = error === undefined ? undefined : format.formatError(error)
      if (errorText !== undefined) write([Buffer.from(`data: ${errorText}\n\n`)], state)
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
  state.pending.push(pieces)
  state.pendingBytes += sizeOf(pieces)
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
