import type { WireStreamEvent } from '../format/wire.ts'

/** Who is told what happens in a task, in order. */
export interface Sink {
  /** `id` names the place behind this event, for a caller who comes back. */
  send(event: WireStreamEvent, id: string): void
  /** Nothing to tell, but still there. */
  beat(): void
  /** Nothing follows. With an error when it ends for a reason that is not the task's. */
  end(error?: unknown): void
}

/** The result of a streaming operation, the same for every binding. */
export class EventStream {
  readonly #start: (sink: Sink) => () => void

  constructor(start: (sink: Sink) => () => void) {
    this.#start = start
  }

  /** Begins to tell; returns the function by which the listener leaves. */
  start(sink: Sink): () => void {
    return this.#start(sink)
  }
}
