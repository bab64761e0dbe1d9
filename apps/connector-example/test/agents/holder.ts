import type { AgentChunk, NormalizedMessage } from '@postern/core'
import { plainTextOf } from '@postern/core'

let release: () => void = () => undefined

/** Stops in the middle of what it says until it is told, in another conversation, to go on. */
export async function* handle({ parts }: NormalizedMessage): AsyncIterable<AgentChunk> {
  if (plainTextOf(parts).includes('go on')) {
    release()
    yield 'told'
    return
  }
  yield 'first '
  await new Promise<void>(resolve => {
    release = resolve
  })
  yield 'second'
}
