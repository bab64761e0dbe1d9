import type { NormalizedMessage, PartialResponse } from '@postern/core'
import { plainTextOf } from '@postern/core'

const text = (content: string) => ({ kind: 'text', mime: 'text/plain', content }) as const

/** Brings others in: by `mentions`, or, told to "say", by writing what it is told to. */
export function handle({ parts }: NormalizedMessage): PartialResponse {
  const heard = plainTextOf(parts)
  const [, said] = /say (.*)/s.exec(heard) ?? []
  if (said !== undefined) return { parts: [text(said)] }
  return { parts: [text('Let us ask.')], mentions: ['@teller@agents.test'] }
}
