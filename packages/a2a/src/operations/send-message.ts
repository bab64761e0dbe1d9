import type { SettledTask, Store } from '@postern/core'
import { A2aRejection } from '../format/errors.ts'
import type { WireMessage } from '../format/wire.ts'
import { showParts, showTask } from '../tasks/show-task.ts'
import type { AdmitMessage, AdmittedMessage } from './admit-message.ts'
import type { A2aOperation, A2aOperationDeps } from './operation.ts'

/** SendMessage (A2A §3.1.1): admits the message durably, then waits unless the caller wants the task at once. */
export function createSendMessage(deps: A2aOperationDeps, admit: AdmitMessage): A2aOperation {
  const { tasks } = deps
  return async call => {
    const admitted = await admit(call)
    const record = await findResult(admitted, deps)
    if (!record) throw new A2aRejection('taskNotFound', 'Task not found')
    if (isBareMessage(record, admitted)) return { message: await showBareMessage(record, tasks) }
    const historyLength = historyLengthOf(admitted)
    return { task: await showTask(tasks, record, { historyLength, includeArtifacts: true }) }
  }
}

/** The agent wants a message as the only answer, without a task (A2A §3.1.1). */
function isBareMessage({ state, response }: SettledTask, { params }: AdmittedMessage): boolean {
  return response?.as === 'message' && state === 'completed' && response.in_reply_to === params.message.messageId
}

async function showBareMessage(
  { context, response }: SettledTask,
  store: Pick<Store, 'findBlob'>,
): Promise<WireMessage> {
  const parts = await showParts(store, response?.parts ?? [])
  return { messageId: response?.id ?? '', role: 'ROLE_AGENT', contextId: context, parts }
}

function historyLengthOf({ params }: AdmittedMessage): number {
  return params.configuration?.historyLength ?? 0
}

function findResult(
  admitted: AdmittedMessage,
  { tasks, waiter, config }: A2aOperationDeps,
): Promise<SettledTask | undefined> {
  const { task: key, message, outcome, params } = admitted
  if (params.configuration?.returnImmediately) return tasks.findTask(key)
  const waitMs = config.limits.wait_seconds * 1000
  return waiter.awaitTask({
    key,
    message,
    mayBeOver: outcome === 'duplicate',
    waitMs,
    needsEntries: historyLengthOf(admitted) > 0,
  })
}
