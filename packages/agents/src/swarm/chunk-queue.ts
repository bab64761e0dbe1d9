/** A queue of pieces between a writer that does not wait and a reader that does. */
interface ChunkQueue<Chunk> extends AsyncIterable<Chunk> {
  tell(chunk: Chunk): void
  end(): void
  fail(error: unknown): void
}

export function createChunkQueue<Chunk>(): ChunkQueue<Chunk> {
  let waiting: Chunk[] = []
  let ending: { readonly error?: unknown } | undefined
  let news = Promise.withResolvers<void>()

  function wake(): void {
    news.resolve()
    news = Promise.withResolvers()
  }

  async function* read(): AsyncGenerator<Chunk, void, undefined> {
    for (;;) {
      const { promise } = news
      // All pieces are removed at once, because each removal from the front would move all others.
      while (waiting.length > 0) {
        const told = waiting
        waiting = []
        yield* told
      }
      if (ending && 'error' in ending) throw ending.error
      if (ending) return
      await promise
    }
  }

  return {
    tell(chunk) {
      waiting.push(chunk)
      wake()
    },
    end() {
      ending ??= {}
      wake()
    },
    fail(error) {
      ending ??= { error }
      wake()
    },
    [Symbol.asyncIterator]: read,
  }
}
