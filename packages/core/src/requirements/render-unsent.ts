import type { Json } from '../format/json.ts'
import type { AnsweredTurn, Channel } from '../ports/channel.ts'

/** The documents that an answer becomes, each once however many destinations get it. Nothing is sent. */
export function renderUnsent(
  { address, prepare }: Pick<Channel, 'address' | 'prepare'>,
  answered: AnsweredTurn,
): readonly Json[] {
  const { turn, response } = answered
  const { deliveries, rendering } = address(answered)
  const { via, agent, correlationId, content: message } = turn
  const queuedAt = Date.parse(response.created_at)
  const documents = deliveries.map(({ to, target }) => {
    const whole = { id: '0', token: 0, attempt: 1, queuedAt, via, agent, to, target, correlationId, message }
    return prepare({ ...whole, response, rendering }).wire
  })
  return [...new Map(documents.map(document => [JSON.stringify(document), document])).values()]
}
