import type { Store, TaskRecord } from '@postern/core'
import type { Call } from '../endpoint/call.ts'
import { A2aRejection } from '../format/errors.ts'
import { isTaskId } from '../format/wire.ts'

/**
 * The caller's own task with this agent. Another caller's task is answered like an unknown one (A2A §13.1). Owner and id are one key.
 * Other forms of ids are not looked up: they have any length and any character, and PostgreSQL fails on U+0000. @throws A2aRejection `taskNotFound`
 */
export async function findOwnTask(
  id: string,
  { caller, agent }: Call,
  tasks: Pick<Store, 'findTask'>,
): Promise<TaskRecord> {
  const record = isTaskId(id) ? await tasks.findTask({ owner: caller.owner, id }) : undefined
  if (record?.agent !== agent.name) throw new A2aRejection('taskNotFound', 'Task not found')
  return record
}
