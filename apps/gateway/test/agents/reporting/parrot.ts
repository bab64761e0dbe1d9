import type { NormalizedMessage, PartialResponse } from '@postern/core'
import { plainTextOf } from '@postern/core'

/** Says back what it heard, and wakes whom it is told to: "wake @name@host". */
export function handle({ parts }: NormalizedMessage): PartialResponse {
  const text = plainTextOf(parts)
  const mentions = [...text.matchAll(/wake (@[\w-]+@[\w.-]+\w)/g)].map(([, address = '']) => address)
  return { parts: [{ kind: 'text', mime: 'text/plain', content: `I heard: ${text}` }], mentions }
}
