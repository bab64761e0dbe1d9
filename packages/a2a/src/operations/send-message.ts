import type { Admitted, Inbound, TaskKey, TaskRecord } from '@postern/core'
import { receive, recordRefusal } from '@postern/core'
import { A2aRejection } from '../errors.ts'
import { normalizeMessage } from '../normalize.ts'
import { showTask } from '../tasks.ts'
import type { Call, ProvenMessage } from '../verify.ts'
import { verifyMessage } from '../verify.ts'
import type { SendMessageParams } from '../wire.ts'
import type { Operation, Rooms } from './operation.ts'

/** SendMessage (A2A §3.1.1): admitted durably, then awaited unless the caller wants the task at once. */
export function createSendMessage(rooms: Rooms): Operation {
  const { house } = rooms
  const { desk, world } = house
  const inbound: Inbound<Call, ProvenMessage> = {
    name: 'a2a',
    verify: call => verifyMessage(call, rooms),
    normalize: proven => [normalizeMessage(proven, house.agents.domain)],
  }
  return async call => {
    const reception = { desk, world, from: call.from }
    const [admitted] = await receive(inbound, call, reception)
    const task = admitted?.task
    if (!admitted || !task) throw new Error('the desk admitted a message without its task')
    if (admitted.outcome === 'conflict') {
      const conflict = refuseConflict()
      recordRefusal(conflict, 'a2a', reception)
      throw conflict
    }
    const params = call.params as SendMessageParams
    const record = await findResult({ ...admitted, task }, params, rooms)
    if (!record) throw new A2aRejection('taskNotFound', 'Task not found')
    const historyLength = params.configuration?.historyLength ?? 0
    return { task: await showTask(desk, record, { historyLength, includeArtifacts: true }) }
  }
}

function findResult(
  admitted: Admitted & { readonly task: TaskKey },
  { message: { messageId }, configuration }: SendMessageParams,
  { house, waiter, config }: Rooms,
): Promise<TaskRecord | undefined> {
  const { task: key, message, outcome } = admitted
  if (configuration?.returnImmediately) return house.desk.findTask(key)
  const waitMs = config.limits.wait_seconds * 1000
  return waiter.awaitTask({ key, message, messageId, mayBeOver: outcome === 'duplicate', waitMs })
}

function refuseConflict(): A2aRejection {
  const description = 'was used for another message'
  const violations = [{ field: 'message.messageId', description }]
  return new A2aRejection('invalidParams', `Cannot SendMessage: message.messageId ${description}`, { violations })
}
