import type { WireStreamEvent } from '../format/wire.ts'

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
  readonly #start: (sink: Sink) => () => void

  constructor(start: (sink: Sink) => () => void) {
    this.#start = start
  }

  /** Starts the stream, and returns what ends it. */
  start(sink: Sink): () => void {
    return this.#start(sink)
  }
}
