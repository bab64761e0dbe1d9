// Returns data that a chat stores with a message, and the agent's state for the chat to show.
import type { NormalizedMessage, PartialResponse } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentChunk, AgentContext } from '@postern/pipeline'

const chat_state = { mood: 'curious', open: ['17'] }

export function handle(
  { parts, policy_resolution: resolution }: NormalizedMessage,
  { requireConsent }: AgentContext,
): PartialResponse | AsyncIterable<AgentChunk> {
  const text = plainTextOf(parts)
  if (resolution) return answer(`decided: ${resolution.outcome}`)
  if (text === 'consent') return { ...requireConsent({ message: 'May I?' }), chat_state }
  return text === 'in pieces' ? stream() : answer(`heard: ${text}`)
}

function answer(content: string): PartialResponse {
  const chat_metadata = { intent: 'refund', scores: { refund: 0.9, 'naïve ☂': null }, stage: 'mine', run_id: 'mine' }
  return { parts: [{ kind: 'text', mime: 'text/plain', content }], chat_state, chat_metadata }
}

async function* stream(): AsyncIterable<AgentChunk> {
  yield { ...answer('one '), chat_metadata: { intent: 'count', first: 1 } }
  yield { ...answer('two'), chat_metadata: { intent: 'done' } }
}
