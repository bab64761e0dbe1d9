import type { Chunk } from './chunk.ts'
import { streamEnd } from './chunk.ts'

interface TailDeps {
  /** Whether anybody needs the cost of the answer. */
  readonly isWanted: boolean
  /** The end has come. The wait for more is short. */
  startTail(): void
}

/** An answer in pieces, and its end with the cost, which most servers send after it. A missing or wrong cost never spoils the answer. */
export async function* holdEnd(
  chunks: AsyncIterable<Chunk>,
  { isWanted, startTail }: TailDeps,
): AsyncGenerator<Chunk, void, undefined> {
  let end: Chunk | undefined
  try {
    for await (const chunk of chunks) {
      if (end) end = { ...end, usage: chunk.usage }
      else if (chunk.finish === undefined) yield chunk
      else {
        // Its text does not wait.
        yield { ...chunk, finish: undefined }
        end = { ...streamEnd, finish: chunk.finish }
        startTail()
      }
      if (end && (!isWanted || chunk.usage || chunk === streamEnd)) break
    }
  } catch (error) {
    if (!end) throw error
  }
  if (end) yield end
}
