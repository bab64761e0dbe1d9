// Queues the message that informs an agent of a canceled task, inside the transaction that cancels the task.
import type { TaskCancelEvent } from '@postern/pipeline'
import { draftMessage } from '../messages/message-draft.ts'
import type { AdmitNewMessage } from '../messages/refusals.ts'
import type { ResponseTable } from '../messages/responses.ts'
import type { Operation } from '../sql/operation.ts'
import type { Sql } from '../sql/sql.ts'
import type { Batch } from '../transaction/batch.ts'

interface CancelEventDeps {
  readonly admitNewMessage: AdmitNewMessage
  readonly responses: Pick<ResponseTable, 'find'>
}

const keyStart = 'canceled task '

/** Formats the duplicate key of the message. The key contains the row number of the task, so that the message is found and deleted when the task expires. */
export function formatCancelKey(task: number): string {
  return `${keyStart}${task}`
}

/** Formats the SQL of the same key. `task` is the SQL of the row number of the task. */
export function formatCancelKeySql(task: string): string {
  return `'${keyStart}' || ${task}`
}

/** Prepares the message that informs an agent of a cancellation, if the agent has asked a question in the task and waits for the answer. */
export function createCancelEvents(db: Sql, { admitNewMessage, responses }: CancelEventDeps) {
  const findLast = db.prepare<{ response_seq: number | null }>('SELECT response_seq FROM tasks WHERE id = ?')
  return function* (batch: Batch, task: number, { correlationId, describe }: TaskCancelEvent): Operation<void> {
    const seq = (yield* findLast.get(task))?.response_seq
    const answer = typeof seq === 'number' ? (yield* responses.find(seq))?.response : undefined
    if (answer?.status !== 'input_required' && answer?.status !== 'auth_required') return
    yield* admitNewMessage(
      batch,
      draftMessage({ ...describe(answer.id), duplicateKey: formatCancelKey(task) }, correlationId),
    )
  }
}
