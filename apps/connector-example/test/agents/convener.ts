import type { NormalizedMessage, PartialResponse } from '@postern/message'
import { plainTextOf } from '@postern/message'

const text = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const

/** Brings other agents in: with `mentions`, or, if it is asked to "say" something, by repeating that text. */
export function handle({ parts }: NormalizedMessage): PartialResponse {
  const receivedText = plainTextOf(parts)
  const [, said] = /say (.*)/s.exec(receivedText) ?? []
  if (said !== undefined) return { parts: [text(said)] }
  return { parts: [text('Let us ask.')], mentions: ['@teller@agents.test'] }
}
