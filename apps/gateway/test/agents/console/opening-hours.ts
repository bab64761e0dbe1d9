import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'

/** Answers with its opening hours, and fails if the message asks for it. */
export async function* handle({ parts }: NormalizedMessage) {
  const text = plainTextOf(parts)
  if (text.includes('please fail')) throw new Error('fetch failed (ECONNREFUSED 127.0.0.1:9)')
  yield `We are **open** on Sunday. You said: ${text.slice(0, 500)}`
}
