import { listenerKeyOf } from '../endpoint/call.ts'
import { A2aRejection } from '../format/errors.ts'
import type { GetTaskParams } from '../format/wire.ts'
import { isTerminal } from '../format/wire.ts'
import { listOpenMessages } from '../tasks/lifetime.ts'
import { findOwnTask } from '../tasks/own-task.ts'
import { checkParams } from '../validate/params.ts'
import { defaultHistoryLength } from './get-task.ts'
import type { A2aOperation, A2aOperationDeps } from './operation.ts'

/** SubscribeToTask (A2A §3.1.6): the present task, then its updates until it has ended. */
export function createSubscribeToTask({ tasks, feeds }: A2aOperationDeps): A2aOperation {
  return async call => {
    checkParams('SubscribeToTask', call.params)
    const record = await findOwnTask((call.params as GetTaskParams).id, call, tasks)
    const { owner, id } = record
    const canGoOn = call.canReplay && call.lastEventId !== undefined && feeds.knows({ owner, id }, call.lastEventId)
    if (isTerminal(record.state) && !canGoOn) {
      throw new A2aRejection('unsupportedOperation', 'Cannot SubscribeToTask: the task has ended')
    }
    return feeds.open({
      key: { owner, id },
      listenerKey: listenerKeyOf(call),
      canReplay: call.canReplay,
      messages: listOpenMessages(record),
      after: call.canReplay ? call.lastEventId : undefined,
      view: { historyLength: defaultHistoryLength, includeArtifacts: true },
    })
  }
}
