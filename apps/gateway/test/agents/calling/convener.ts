import type { NormalizedMessage, PartialResponse } from '@postern/core'
import { plainTextOf } from '@postern/core'

/** Brings in everybody that is named in what it hears; on its own it has little to say. */
export function handle({ parts }: NormalizedMessage): PartialResponse {
  const mentions = plainTextOf(parts).match(/@[\w-]+@[\w.-]+\w/g) ?? []
  return { parts: [{ kind: 'text', mime: 'text/markdown', content: 'Let me ask around.' }], mentions }
}
