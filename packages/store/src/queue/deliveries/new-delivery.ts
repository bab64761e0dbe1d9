// Formats a new delivery as its columns.
import type { ChannelName } from '@postern/message'
import { findShareGroup } from '@postern/message'
import type { PlannedDelivery } from '@postern/pipeline'
import type { AnsweredMessage, ResponseDraft } from '../../messages/responses.ts'
import { formatJson } from '../../sql/json-columns.ts'

/** The cause of new deliveries: the message, its answer and their agent. */
export interface NewDelivery {
  readonly message: number
  /** The answer that is delivered; undefined for a handshake. */
  readonly response: number | undefined
  readonly thread: number
  readonly agent: string
  readonly channel: ChannelName
  readonly now: number
  /** The broadcast to which the delivery belongs. */
  readonly broadcast?: number | undefined
  /** The message and its answer, if they are in memory. */
  readonly inMemory?: AnswerInMemory | undefined
}

/** A message and its answer in memory. */
interface AnswerInMemory extends AnsweredMessage {
  readonly response: ResponseDraft
}

/** Columns of a new delivery, in the order of `columnValues`. */
export const newColumns = 'message, response_seq, thread_id, destination, target, queued_at, peer, host, broadcast'

/** Formats a new delivery as the values of `newColumns`. */
export function columnValues({ to, target, peer }: PlannedDelivery, cause: NewDelivery) {
  const { message, response = null, thread, now, broadcast = null } = cause
  const group = findShareGroup({ to, target }) ?? null
  return [message, response, thread, to, formatJson(target), now, peer ?? null, group, broadcast] as const
}
