// Mentions the other of two agents in every answer.
import type { NormalizedMessage, PartialResponse } from '@postern/message'

export function handle({ recipient }: NormalizedMessage): PartialResponse {
  return {
    parts: [{ kind: 'text', mime: 'text/plain', content: 'Your turn.' }],
    mentions: [recipient.startsWith('@ping') ? '@pong@agents.test' : '@ping@agents.test'],
  }
}
