import type { Desk, TaskRecord } from '@postern/core'
import { A2aRejection } from '../errors.ts'
import { showParts, showTask } from '../tasks.ts'
import type { WireMessage } from '../wire.ts'
import type { AdmitMessage, AdmittedMessage } from './admit-message.ts'
import type { Operation, Rooms } from './operation.ts'

/** SendMessage (A2A §3.1.1): admitted durably, then awaited unless the caller wants the task at once. */
export function createSendMessage(rooms: Rooms, admit: AdmitMessage): Operation {
  const { desk } = rooms.house
  return async call => {
    const admitted = await admit(call)
    const record = await findResult(admitted, rooms)
    if (!record) throw new A2aRejection('taskNotFound', 'Task not found')
    if (isBareMessage(record, admitted)) return { message: await showBareMessage(record, desk) }
    const historyLength = admitted.params.configuration?.historyLength ?? 0
    return { task: await showTask(desk, record, { historyLength, includeArtifacts: true }) }
  }
}

/** The agent wants its answer to be all there is: no task to come back to (A2A §3.1.1). */
function isBareMessage({ state, response }: TaskRecord, { params }: AdmittedMessage): boolean {
  return response?.as === 'message' && state === 'completed' && response.in_reply_to === params.message.messageId
}

async function showBareMessage({ context, response }: TaskRecord, desk: Pick<Desk, 'findBlob'>): Promise<WireMessage> {
  const parts = await showParts(desk, response?.parts ?? [])
  return { messageId: response?.id ?? '', role: 'ROLE_AGENT', contextId: context, parts }
}

function findResult(admitted: AdmittedMessage, { house, waiter, config }: Rooms): Promise<TaskRecord | undefined> {
  const { task: key, message, outcome, params } = admitted
  if (params.configuration?.returnImmediately) return house.desk.findTask(key)
  const waitMs = config.limits.wait_seconds * 1000
  return waiter.awaitTask({ key, message, mayBeOver: outcome === 'duplicate', waitMs })
}
