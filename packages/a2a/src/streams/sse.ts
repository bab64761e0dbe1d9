// Writes the events of a task as server-sent events and ends streams of slow clients.
import { toSseJson } from '@postern/http'
import type { WireStreamEvent } from '../format/wire.ts'

/** Writes an event into the `data` of a server-sent event. */
export interface SseFormat {
  /** Writes the event as JSON. All listeners share the same bytes. */
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
 * Creates a writer that writes each event once for all listeners, so that a hundred slow readers use the memory of one large artifact and not of
 * a hundred.
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

/** Writes the events of 1.0 unchanged. */
export const writePlainEvent = createEventWriter(event => event)

/** The most bytes that may wait for a slow client. Above it, the stream ends. */
export const maxPendingBytes = 1024 * 1024
/** The number of events that may wait regardless of their size: a large artifact, and the status after it. */
export const fewEvents = 2

/** The size up to which events are copied and sent in one chunk. Larger events are sent in chunks that share their bytes. */
const maxCopiedBytes = 16 * 1024

const encoder = new TextEncoder()
const heartbeat = encoder.encode(':\n\n')

interface SseState {
  readonly pending: (readonly Uint8Array[])[]
  pendingBytes: number
  /** True if the reader has asked for the next event. */
  isWanted: boolean
  isPassing: boolean
  isEnding: boolean
  isOver: boolean
  stopStream: (() => void) | undefined
  controller: ReadableStreamDefaultController<Uint8Array>
}

/** Renders a stream as server-sent events (WHATWG HTML §9.2): one `data` line is one event. */
export function renderSse(stream: EventStream, format: SseFormat): ReadableStream<Uint8Array> {
  let state: SseState
  const source: UnderlyingDefaultSource<Uint8Array> = {
    start(controller) {
      const flags = { isWanted: false, isPassing: false, isEnding: false, isOver: false }
      state = { pending: [], pendingBytes: 0, ...flags, stopStream: undefined, controller }
      state.stopStream = stream.start(createSink(state, format))
    },
    pull() {
      state.isWanted = true
      sendNext(state)
    },
    cancel() {
      state.isOver = true
      state.pending.length = 0
      state.stopStream?.()
    },
  }
  return new ReadableStream(source, { highWaterMark: 0 })
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
  if (state.isOver || state.isEnding) return
  if (state.pendingBytes > maxPendingBytes && state.pending.length > fewEvents) {
    endSlowStream(state)
    return
  }
  const size = sizeOf(pieces)
  state.pending.push(size > maxCopiedBytes ? pieces : [Buffer.concat(pieces)])
  state.pendingBytes += size
  sendNext(state)
}

/** Sends the next event to the reader, or ends the stream after the last one. */
function sendNext(state: SseState): void {
  // A reader that has asked twice asks again during `enqueue`, but the chunks of one event must stay together.
  if (state.isPassing) return
  state.isPassing = true
  for (let next = dequeueIfWanted(state); next; next = dequeueIfWanted(state)) {
    for (const piece of next) state.controller.enqueue(piece)
  }
  state.isPassing = false
  if (!state.isEnding || state.isOver || state.pending.length > 0) return
  state.isOver = true
  state.controller.close()
}

function dequeueIfWanted(state: SseState): readonly Uint8Array[] | undefined {
  const next = state.isWanted ? state.pending.shift() : undefined
  if (!next) return undefined
  state.isWanted = false
  state.pendingBytes -= sizeOf(next)
  return next
}

function endSlowStream(state: SseState): void {
  state.isOver = true
  state.stopStream?.()
  state.pending.length = 0
  const error = new Error('the client reads too slowly')
  state.controller.error(Object.assign(error, { code: 'ERR_STREAM_PREMATURE_CLOSE' }))
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
  /** Ends the stream. An error is a reason outside of the task. */
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
