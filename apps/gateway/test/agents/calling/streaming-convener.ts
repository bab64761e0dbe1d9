import type { AgentChunk, NormalizedMessage } from '@postern/core'
import { plainTextOf } from '@postern/core'

/** As `convener`, piece by piece. */
export async function* handle({ parts }: NormalizedMessage): AsyncGenerator<AgentChunk> {
  yield 'Let me '
  yield 'ask around.'
  yield { mentions: plainTextOf(parts).match(/@[\w-]+@[\w.-]+\w/g) ?? [] }
}
