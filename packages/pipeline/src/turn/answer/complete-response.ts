// Completes an agent's answer to a response.

import type { NormalizedResponse, PartialResponse } from '@postern/message'
import { normalizedResponseSchema, parseAgentAnswer, sumUsage } from '@postern/message'
import { collapseCalls } from '../../history/collapse-calls.ts'
import type { Turn } from '../../ports/records/work/turn.ts'

/** Completes the answer of an agent with the members that the gateway sets. @throws Error if it is not a valid response */
export function completeResponse(
  partial: PartialResponse & Pick<NormalizedResponse, 'text_mentions'>,
  turn: Pick<Turn, 'content'>,
  { id, createdAt }: { readonly id: string; readonly createdAt: string },
): NormalizedResponse {
  const { content } = turn
  const { usage = [], ...members } = partial
  const response = {
    ...members,
    ...(members.trace && { trace: collapseCalls(members.trace) }),
    ...(usage.length > 0 && { usage: sumUsage(usage) }),
    id,
    thread_id: content.thread_id,
    in_reply_to: content.id,
    sender: content.recipient,
    parts: partial.parts ?? [],
    status: partial.status ?? 'completed',
    created_at: createdAt,
  }
  return parseAgentAnswer(normalizedResponseSchema, response)
}

/** Creates the answer that the peer gets when an agent fails. It gives no reason, but an id that the operator can look up. */
export function createFailedAnswer(correlationId: string): PartialResponse {
  const content = `Sorry, this could not be answered. Reference: ${correlationId}`
  return { status: 'failed', parts: [{ kind: 'text', mime: 'text/plain', content }] }
}
