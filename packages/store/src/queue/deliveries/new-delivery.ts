// Formats a new delivery as the columns of its row.
import type { ChannelName } from '@postern/message'
import { findShareGroup } from '@postern/message'
import type { PlannedDelivery } from '@postern/pipeline'
import type { AnsweredMessage, ResponseDraft } from '../../messages/responses.ts'
import { formatJson } from '../../sql/json-columns.ts'

/** The message, the answer and the agent that cause new deliveries. */
export interface DeliveryCause {
  readonly message: number
  /** The answer that is delivered. Undefined for a handshake. */
  readonly response: number | undefined
  readonly thread: number
  readonly agent: string
  readonly channel: ChannelName
  readonly now: number
  /** The broadcast to which the delivery belongs. */
  readonly broadcast?: number | undefined
  /** The message and its answer, if they are in memory. */
  readonly answerInMemory?: AnswerInMemory | undefined
}

/** A message and its answer in memory. */
interface AnswerInMemory extends AnsweredMessage {
  readonly response: ResponseDraft
}

/** The columns of a new delivery, in the order of `formatDeliveryValues`. */
export const deliveryColumns = 'message, response_seq, thread_id, destination, target, queued_at, peer, host, broadcast'

/** Formats a new delivery as the values of `deliveryColumns`. The column `host` contains the group of deliveries that share one limit. */
export function formatDeliveryValues({ to, target, peer }: PlannedDelivery, cause: DeliveryCause) {
  const { message, response = null, thread, now, broadcast = null } = cause
  const group = findShareGroup({ to, target }) ?? null
  return [message, response, thread, to, formatJson(target), now, peer ?? null, group, broadcast] as const
}
