import type { NormalizedMessage, PartialResponse } from '@postern/core'

/** Names the other one, whatever it hears. */
export function handle({ recipient }: NormalizedMessage): PartialResponse {
  return { parts: [], mentions: [recipient.startsWith('@ping') ? '@pong@agents.test' : '@ping@agents.test'] }
}
