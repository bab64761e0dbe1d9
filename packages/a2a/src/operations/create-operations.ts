import type { FaultName } from '../errors.ts'
import { A2aRejection } from '../errors.ts'
import { createCancelTask } from './cancel-task.ts'
import { createGetTask } from './get-task.ts'
import { createListTasks } from './list-tasks.ts'
import type { Operation, Operations, Rooms } from './operation.ts'
import { createSendMessage } from './send-message.ts'

/** Operations of capabilities the card does not declare, and how they are refused (A2A §3.1, §4.4.3). */
const undeclared: Readonly<Record<string, readonly [fault: FaultName, what: string]>> = {
  SendStreamingMessage: ['unsupportedOperation', 'streaming'],
  SubscribeToTask: ['unsupportedOperation', 'streaming'],
  GetExtendedAgentCard: ['unsupportedOperation', 'extended agent card'],
  CreateTaskPushNotificationConfig: ['pushNotificationNotSupported', 'push notifications'],
  GetTaskPushNotificationConfig: ['pushNotificationNotSupported', 'push notifications'],
  ListTaskPushNotificationConfigs: ['pushNotificationNotSupported', 'push notifications'],
  DeleteTaskPushNotificationConfig: ['pushNotificationNotSupported', 'push notifications'],
}

/** All eleven operations of A2A 1.0 by name, for every binding. */
export function createOperations(rooms: Rooms): Operations {
  const refused = Object.entries(undeclared).map(
    ([name, [fault, what]]) => [name, createUndeclared(fault, `Cannot ${name}: no ${what} here`)] as const,
  )
  return new Map<string, Operation>([
    ['SendMessage', createSendMessage(rooms)],
    ['GetTask', createGetTask(rooms)],
    ['ListTasks', createListTasks(rooms)],
    ['CancelTask', createCancelTask(rooms)],
    ...refused,
  ])
}

function createUndeclared(fault: FaultName, message: string): Operation {
  return async () => {
    throw new A2aRejection(fault, message)
  }
}
