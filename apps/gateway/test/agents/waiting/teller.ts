// Reports that it is searching, and then ends in the way that the message names.
import { once } from 'node:events'
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf, Unavailable } from '@postern/message'
import type { AgentChunk, AgentContext } from '@postern/pipeline'

/**
 * Reports a search. By default it finds nothing until its turn is aborted. It can also end without a word (`quiet`), answer (`found`), or
 * ask to be called again in ten minutes (`later`).
 */
export async function* handle({ parts }: NormalizedMessage, { signal }: AgentContext): AsyncIterable<AgentChunk> {
  const text = plainTextOf(parts).trim()
  yield { status: 'working', parts: [{ kind: 'text', mime: 'text/plain', content: `looking for ${text}` }] }
  if (text.includes('quiet')) yield ''
  else if (text.includes('later')) throw new Unavailable('Cannot look: it is dark', { retryAfter: 600 })
  else if (text.includes('found')) yield `here is ${text}`
  else if (!signal.aborted) await once(signal, 'abort')
  signal.throwIfAborted()
}
