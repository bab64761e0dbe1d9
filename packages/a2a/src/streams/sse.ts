import { toSseJson } from '@postern/http'
import type { WireStreamEvent } from '../format/wire.ts'

/** Writes an event into the `data` of a server-sent event. */
export interface SseFormat {
  /** The event as JSON; all listeners share the same bytes. */
  readonly writeEvent: EventWriter
  /** The JSON of one response before and after the event. */
  readonly frame: readonly [before: string, after: string]
  /** What the client gets when a stream breaks off; undefined: nothing. */
  formatError(error: unknown): string | undefined
  /** Whether events have ids, for a client that returns with `Last-Event-ID`. */
  readonly withIds: boolean
}

export type EventWriter = (event: WireStreamEvent) => Uint8Array

/** Writes each event once for all listeners: a hundred slow readers hold one large artifact and not a hundred. */
export function createEventWriter(toDocument: (event: WireStreamEvent) => object): EventWriter {
  const written = new WeakMap<WireStreamEvent, Uint8Array>()
  return event => {
    const known = written.get(event)
    if (known) return known
    const bytes = Buffer.from(toSseJson(toDocument(event)))
    written.set(event, bytes)
    return bytes
  }
}

/** The events of 1.0, unchanged. */
export const writePlainEvent = createEventWriter(event => event)

/** Bytes that may wait for a slow client. Beyond that the stream ends. */
export const maxWaiting = 1024 * 1024
/** This many events may wait whatever their size, because an answer comes twice: as an artifact and in the status after it. */
export const fewEvents = 2

/** Larger events are sent in pieces that share their bytes, smaller ones at once. */
const copiedBytes = 16 * 1024

const encoder = new TextEncoder()
const heartbeat = encoder.encode(':\n\n')

interface SseState {
  readonly waiting: (readonly Uint8Array[])[]
  waitingBytes: number
  /** The reader has asked for the next event. */
  isWanted: boolean
  isPassing: boolean
  isEnding: boolean
  isOver: boolean
  leave: (() => void) | undefined
  controller: ReadableStreamDefaultController<Uint8Array>
}

/** Server-sent events (WHATWG HTML §9.2): one `data` line is one event. */
export function renderSse(stream: EventStream, format: SseFormat): ReadableStream<Uint8Array> {
  let open: SseState
  const source: UnderlyingDefaultSource<Uint8Array> = {
    start(controller) {
      const flags = { isWanted: false, isPassing: false, isEnding: false, isOver: false }
      open = { waiting: [], waitingBytes: 0, ...flags, leave: undefined, controller }
      open.leave = stream.start(createSink(open, format))
    },
    pull() {
      open.isWanted = true
      pass(open)
    },
    cancel() {
      open.isOver = true
      open.waiting.length = 0
      open.leave?.()
    },
  }
  return new ReadableStream(source, { highWaterMark: 0 })
}

function createSink(open: SseState, format: SseFormat): Sink {
  const [before, after] = format.frame
  return {
    send(event, id) {
      const place = format.withIds ? `id: ${id}\n` : ''
      const pieces = [
        encoder.encode(`${place}data: ${before}`),
        format.writeEvent(event),
        encoder.encode(`${after}\n\n`),
      ]
      write(pieces, open)
    },
    beat() {
      if (open.waiting.length === 0) write([heartbeat], open)
    },
    end(error) {
      const last = error === undefined ? undefined : format.formatError(error)
      if (last !== undefined) write([encoder.encode(`data: ${last}\n\n`)], open)
      open.isEnding = true
      pass(open)
    },
  }
}

function write(pieces: readonly Uint8Array[], open: SseState): void {
  if (open.isOver || open.isEnding) return
  if (open.waitingBytes > maxWaiting && open.waiting.length > fewEvents) {
    drop(open)
    return
  }
  const size = sizeOf(pieces)
  open.waiting.push(size > copiedBytes ? pieces : [Buffer.concat(pieces)])
  open.waitingBytes += size
  pass(open)
}

/** Sends the next event to the reader; after the last one, ends the stream. */
function pass(open: SseState): void {
  // A reader that asked twice asks again within `enqueue`. The pieces of one event must stay together.
  if (open.isPassing) return
  open.isPassing = true
  for (let next = takeWanted(open); next; next = takeWanted(open)) {
    for (const piece of next) open.controller.enqueue(piece)
  }
  open.isPassing = false
  if (!open.isEnding || open.isOver || open.waiting.length > 0) return
  open.isOver = true
  open.controller.close()
}

function takeWanted(open: SseState): readonly Uint8Array[] | undefined {
  const next = open.isWanted ? open.waiting.shift() : undefined
  if (!next) return undefined
  open.isWanted = false
  open.waitingBytes -= sizeOf(next)
  return next
}

function drop(open: SseState): void {
  open.isOver = true
  open.leave?.()
  open.waiting.length = 0
  const error = new Error('the client reads too slowly')
  open.controller.error(Object.assign(error, { code: 'ERR_STREAM_PREMATURE_CLOSE' }))
}

function sizeOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}

/** Receives the events of a task in order. */
export interface Sink {
  /** `id` names the position after this event, for a caller that comes back. */
  send(event: WireStreamEvent, id: string): void
  /** A heartbeat. */
  beat(): void
  /** Ends the stream. An error is a reason outside of the task. */
  end(error?: unknown): void
}

/** The result of a streaming operation, the same in every binding. */
export class EventStream {
  /** Starts the stream, and returns what ends it. */
  readonly start: (sink: Sink) => () => void

  constructor(start: (sink: Sink) => () => void) {
    this.start = start
  }
}
