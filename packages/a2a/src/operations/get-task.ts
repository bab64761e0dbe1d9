import type { GetTaskParams } from '../format/wire.ts'
import { showTask } from '../render.ts'
import { findOwnTask } from '../tasks/own-task.ts'
import { checkParams } from '../validate/params.ts'
import type { A2aOperation, A2aOperationDeps } from './operation.ts'

/** How much history a caller gets by default; the server chooses it (A2A §3.2.4). */
export const defaultHistoryLength = 100

/** GetTask (A2A §3.1.3). */
export function createGetTask({ tasks }: A2aOperationDeps): A2aOperation {
  return async call => {
    checkParams('GetTask', call.params)
    const { id, historyLength } = call.params as GetTaskParams
    const record = await findOwnTask(id, call, tasks)
    return showTask(tasks, record, { historyLength: historyLength ?? defaultHistoryLength, includeArtifacts: true })
  }
}
