// Goes through the stages that its message names, and reports them in different ways.
import type { NormalizedMessage, PartialResponse } from '@postern/message'
import { plainTextOf, Undeliverable } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

export async function* handle(
  { parts }: NormalizedMessage,
  { stage, signal }: AgentContext,
): AsyncGenerator<PartialResponse> {
  for (const name of plainTextOf(parts).split(' ')) {
    if (name === 'fail!') throw new Error('as asked')
    if (name === 'later!') throw new Undeliverable('Cannot reach it')
    if (name === 'wait!')
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    else if (name === 'call!')
      yield { parts: [{ kind: 'tool_call', id: 'call-1', name: 'weigh', args: {}, result: 1 }] }
    else if (name.startsWith('+')) yield { status: 'working', stage: name.slice(1) }
    else stage(name)
  }
  yield { parts: [{ kind: 'text', mime: 'text/plain', content: 'done' }] }
}
