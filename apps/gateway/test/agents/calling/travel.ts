// Asks for a destination, and then streams an answer with characters that end lines in other formats than JSON.
import type { NormalizedMessage, PartialResponse } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

export async function* handle({ parts }: NormalizedMessage, { state }: AgentContext): AsyncGenerator<PartialResponse> {
  const text = (content: string) => [{ kind: 'text', mime: 'text/plain', content } as const]
  if ((await state.get()) !== 'asked') {
    state.set('asked')
    yield { status: 'input_required', parts: text('Where to?') }
    return
  }
  state.set('answered')
  yield { status: 'completed', parts: text('A ticket\u2028') }
  yield { parts: text(`to\u0085${parts.map(part => (part.kind === 'text' ? part.content : '')).join('')}`) }
}
