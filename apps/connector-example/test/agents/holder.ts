// Pauses in the middle of its answer until a message in another conversation asks it to continue.
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentChunk } from '@postern/pipeline'

let release: () => void = () => undefined

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
