import type { Chunk } from './chunk.ts'
import { streamEnd } from './chunk.ts'

interface TailDeps {
  /** Whether anybody wants to know what the answer cost. */
  readonly isWanted: boolean
  /** The end has come: what follows it is not waited for much longer. */
  startTail(): void
}

/**
 * An answer as it comes, its end when it is known what it all cost: most servers tell that behind it. Nobody who does not tell, and nothing
 * that goes wrong there, spoils the answer.
 */
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
        // Its words are not held up.
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
