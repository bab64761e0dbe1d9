import type { AgentContext, NormalizedMessage, PartialResponse } from '@postern/core'
import { plainTextOf, Unavailable } from '@postern/core'

/** Goes through the stages its message names, each in its own way of naming them. */
export async function* handle(
  { parts }: NormalizedMessage,
  { stage, signal }: AgentContext,
): AsyncGenerator<PartialResponse> {
  for (const name of plainTextOf(parts).split(' ')) {
    if (name === 'fail!') throw new Error('as asked')
    if (name === 'later!') throw new Unavailable('Cannot reach it', { retryAfter: 30 * 86_400 })
    if (name === 'wait!')
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    else if (name === 'call!')
      yield { parts: [{ kind: 'tool_call', id: 'call-1', name: 'weigh', args: {}, result: 1 }] }
    else if (name.startsWith('+')) yield { status: 'working', stage: name.slice(1) }
    else stage(name)
  }
  yield { parts: [{ kind: 'text', mime: 'text/plain', content: 'done' }] }
}
