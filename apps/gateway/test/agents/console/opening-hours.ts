// Answers with its opening hours, or fails on request.
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'

export async function* handle({ parts }: NormalizedMessage) {
  const text = plainTextOf(parts)
  if (text.includes('please fail')) throw new Error('fetch failed (ECONNREFUSED 127.0.0.1:9)')
  yield `We are **open** on Sunday. You said: ${text.slice(0, 500)}`
}
