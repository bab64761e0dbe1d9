// Queues the message that informs an agent of a canceled task, within the transaction that cancels it.
import type { TaskCancelEvent } from '@postern/pipeline'
import { draftMessage } from '../messages/message-draft.ts'
import type { AdmitNew } from '../messages/refusals.ts'
import type { ResponseTable } from '../messages/responses.ts'
import type { Sql } from '../sql/sql.ts'
import type { Batch } from '../transaction/batch.ts'

interface CancelEventDeps {
  readonly admitNew: AdmitNew
  readonly responses: Pick<ResponseTable, 'find'>
}

const keyStart = 'canceled task '

/** Returns the duplicate key of the message. It names the row of the task, because the message is deleted when its task expires. */
export function cancelKeyOf(task: number): string {
  return `${keyStart}${task}`
}

/** Returns the same key as SQL. `task`: SQL of the number of the row. */
export function cancelKeySql(task: string): string {
  return `'${keyStart}' || ${task}`
}

/** Prepares the message that informs an agent of the cancel. The agent has asked something in the task and waits for the answer. */
export function createCancelEvents(db: Sql, { admitNew, responses }: CancelEventDeps) {
  const findLast = db.prepare<{ response_seq: number | null }>('SELECT response_seq FROM tasks WHERE id = ?')
  return (batch: Batch, task: number, { correlationId, describe }: TaskCancelEvent): void => {
    const seq = findLast.get(task)?.response_seq
    const answer = typeof seq === 'number' ? responses.find(seq)?.response : undefined
    if (answer?.status !== 'input_required' && answer?.status !== 'auth_required') return
    admitNew(batch, draftMessage({ ...describe(answer.id), duplicateKey: cancelKeyOf(task) }, correlationId))
  }
}
