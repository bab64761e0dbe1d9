import type { NormalizedMessage, PartialResponse } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

const text = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const

/** Asks in text, and with policies that nobody knows. */
export async function handle({ parts }: NormalizedMessage, { state }: AgentContext): Promise<PartialResponse> {
  const receivedText = plainTextOf(parts)
  if (receivedText.includes('dance')) {
    return { parts: [{ kind: 'policy', policy: { kind: 'dance_first', message: 'Dance <b>first</b>.' } }] }
  }
  const isAsked = (await state.get()) === 'asked'
  if (isAsked) return { parts: [text(`So it is ${receivedText}.`)] }
  state.set('asked')
  return { status: 'input_required', parts: [text('Which colour?')] }
}
