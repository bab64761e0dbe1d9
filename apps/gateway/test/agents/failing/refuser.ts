import type { NormalizedMessage, PartialResponse } from '@postern/message'
import { plainTextOf } from '@postern/message'

/** Repeats the message as a refusal. */
export function handle({ parts }: NormalizedMessage): PartialResponse {
  const content = `I refuse: ${plainTextOf(parts)}`
  return { status: 'rejected', parts: [{ kind: 'text', mime: 'text/plain', content }] }
}
