// Answers like `convener`, but as a stream.
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentChunk } from '@postern/pipeline'

export async function* handle({ parts }: NormalizedMessage): AsyncGenerator<AgentChunk> {
  yield 'Let me '
  yield 'ask around.'
  yield { mentions: plainTextOf(parts).match(/@[\w-]+@[\w.-]+\w/g) ?? [] }
}
