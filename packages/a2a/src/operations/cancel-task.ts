import { A2aRejection } from '../format/errors.ts'
import type { GetTaskParams } from '../format/wire.ts'
import { showTask } from '../render.ts'
import { findOwnTask } from '../tasks/own-task.ts'
import { checkParams } from '../validate/params.ts'
import { defaultHistoryLength } from './get-task.ts'
import type { A2aOperation, A2aOperationDeps } from './operation.ts'

/** CancelTask (A2A §3.1.5). The store compares and sets, so exactly one of several concurrent calls succeeds. */
export function createCancelTask({ gateway: { store }, tasks }: A2aOperationDeps): A2aOperation {
  return async call => {
    checkParams('CancelTask', call.params)
    const { id, owner } = await findOwnTask((call.params as GetTaskParams).id, call, tasks)
    if (!(await store.cancelTask({ owner, id }))) {
      throw new A2aRejection('taskNotCancelable', 'Cannot CancelTask: the task has ended')
    }
    const canceled = await findOwnTask(id, call, tasks)
    return showTask(tasks, canceled, { historyLength: defaultHistoryLength, includeArtifacts: true })
  }
}
