// Repeats the message as a refusal.
import type { NormalizedMessage, PartialResponse } from '@postern/message'
import { plainTextOf } from '@postern/message'

export function handle({ parts }: NormalizedMessage): PartialResponse {
  const content = `I refuse: ${plainTextOf(parts)}`
  return { status: 'rejected', parts: [{ kind: 'text', mime: 'text/plain', content }] }
}
