import { showTask } from '../tasks.ts'
import { checkParams } from '../validate/params.ts'
import { findOwnTask } from '../verify.ts'
import type { GetTaskParams } from '../wire.ts'
import type { Operation, OperationDeps } from './operation.ts'

/** How much history a caller sees who does not say: the choice is the server's (A2A §3.2.4). */
export const defaultHistoryLength = 100

/** GetTask (A2A §3.1.3). */
export function createGetTask({ gateway: { store } }: OperationDeps): Operation {
  return async call => {
    checkParams('GetTask', call.params)
    const { id, historyLength } = call.params as GetTaskParams
    const record = await findOwnTask(id, call, store)
    return showTask(store, record, { historyLength: historyLength ?? defaultHistoryLength, includeArtifacts: true })
  }
}
