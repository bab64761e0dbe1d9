// Asks a question in text, or refuses with HTML in its words.
import type { NormalizedMessage, PartialResponse } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

const text = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const

export async function handle({ parts }: NormalizedMessage, { state }: AgentContext): Promise<PartialResponse> {
  const receivedText = plainTextOf(parts)
  if (receivedText.includes('dance')) {
    return { parts: [{ kind: 'policy', policy: { kind: 'forbidden', message: 'Dance <b>first</b>.' } }] }
  }
  const isAsked = (await state.get()) === 'asked'
  if (isAsked) return { parts: [text(`So it is ${receivedText}.`)] }
  state.set('asked')
  return { status: 'input_required', parts: [text('Which colour?')] }
}
