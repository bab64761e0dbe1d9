import type { NormalizedMessage, PartialResponse } from '@postern/message'
import { plainTextOf } from '@postern/message'

/** Repeats the message, and mentions the addresses that it names: "wake @name@host". */
export function handle({ parts }: NormalizedMessage): PartialResponse {
  const text = plainTextOf(parts)
  const mentions = [...text.matchAll(/wake (@[\w-]+@[\w.-]+\w)/g)].map(([, address = '']) => address)
  return { parts: [{ kind: 'text', mime: 'text/plain', content: `I heard: ${text}` }], mentions }
}
