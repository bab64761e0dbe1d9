// Renders a delivery that has not been sent, for the operator.

import type { Json } from '@postern/message'
import type { AnsweredTurn } from '../ports/channel/addressing.ts'
import type { Channel } from '../ports/channel/channel.ts'

/** Renders the documents that an answer becomes, each one once regardless of the number of its destinations. Sends nothing. */
export function renderUnsent(
  { address, prepare }: Pick<Channel, 'address' | 'prepare'>,
  answered: AnsweredTurn,
): readonly Json[] {
  const { turn, response } = answered
  const { deliveries, rendering } = address(answered)
  const { via, agent, correlationId, content: message } = turn
  const queuedAt = Date.parse(response.created_at)
  const documents = deliveries.map(({ to, target }) => {
    const delivery = { id: '0', token: 0, attempt: 1, queuedAt, via, agent, to, target, correlationId, message }
    return prepare({ ...delivery, response, rendering }).wire
  })
  return [...new Map(documents.map(document => [JSON.stringify(document), document])).values()]
}
