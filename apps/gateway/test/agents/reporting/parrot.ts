// Repeats the message, and mentions the addresses after the word `wake`.
import type { NormalizedMessage, PartialResponse } from '@postern/message'
import { plainTextOf } from '@postern/message'

export function handle({ parts }: NormalizedMessage): PartialResponse {
  const text = plainTextOf(parts)
  const mentions = [...text.matchAll(/wake (@[\w-]+@[\w.-]+\w)/g)].map(([, address = '']) => address)
  return { parts: [{ kind: 'text', mime: 'text/plain', content: `I heard: ${text}` }], mentions }
}
