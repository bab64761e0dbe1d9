// Queues the chunks of an answer between a writer that does not wait and a reader that does.

interface ChunkQueue<Chunk> extends AsyncIterable<Chunk> {
  add(chunk: Chunk): void
  end(): void
  fail(error: unknown): void
}

/** Creates an empty queue. One reader gets its chunks in order, until its end or failure. */
export function createChunkQueue<Chunk>(): ChunkQueue<Chunk> {
  let queue: Chunk[] = []
  let queueEnd: { readonly error?: unknown } | undefined
  let arrival = Promise.withResolvers<void>()

  function signalArrival(): void {
    arrival.resolve()
    arrival = Promise.withResolvers()
  }

  async function* read(): AsyncGenerator<Chunk, void, undefined> {
    for (;;) {
      const { promise } = arrival
      // All chunks are removed at once, because each removal from the front would move all others.
      while (queue.length > 0) {
        const chunks = queue
        queue = []
        yield* chunks
      }
      if (queueEnd && 'error' in queueEnd) throw queueEnd.error
      if (queueEnd) return
      await promise
    }
  }

  return {
    add(chunk) {
      queue.push(chunk)
      signalArrival()
    },
    end() {
      queueEnd ??= {}
      signalArrival()
    },
    fail(error) {
      queueEnd ??= { error }
      signalArrival()
    },
    [Symbol.asyncIterator]: read,
  }
}
