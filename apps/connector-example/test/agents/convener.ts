// Mentions other agents with `mentions`, or by repeating a text after the word "say".
import type { NormalizedMessage, PartialResponse } from '@postern/message'
import { plainTextOf } from '@postern/message'

const text = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const

export function handle({ parts }: NormalizedMessage): PartialResponse {
  const receivedText = plainTextOf(parts)
  const [, requestedText] = /say (.*)/s.exec(receivedText) ?? []
  if (requestedText !== undefined) return { parts: [text(requestedText)] }
  return { parts: [text('Let us ask.')], mentions: ['@teller@agents.test'] }
}
