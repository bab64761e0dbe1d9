// Mentions every agent that the message names, and has little to say itself.
import type { NormalizedMessage, PartialResponse } from '@postern/message'
import { plainTextOf } from '@postern/message'

export function handle({ parts }: NormalizedMessage): PartialResponse {
  const mentions = plainTextOf(parts).match(/@[\w-]+@[\w.-]+\w/g) ?? []
  return { parts: [{ kind: 'text', mime: 'text/markdown', content: 'Let me ask around.' }], mentions }
}
