import { hasExtendedCard } from '../cards/card.ts'
import type { FaultName } from '../format/errors.ts'
import { A2aRejection } from '../format/errors.ts'
import type { OperationName } from '../format/operation-names.ts'
import { createAdmitMessage } from './admit-message.ts'
import { createCancelTask } from './cancel-task.ts'
import { createGetExtendedCard } from './get-extended-card.ts'
import { createGetTask } from './get-task.ts'
import { createListTasks } from './list-tasks.ts'
import type { A2aOperation, A2aOperationDeps, Operations } from './operation.ts'
import { createPushOperations } from './push-configs.ts'
import { createSendMessage } from './send-message.ts'
import { createSendStreamingMessage } from './send-streaming-message.ts'
import { createSubscribeToTask } from './subscribe-to-task.ts'

/** The refusals of operations whose capabilities the card does not declare (A2A §3.1, §4.4.3). */
const absent = {
  streaming: ['unsupportedOperation', 'streaming'],
  card: ['unsupportedOperation', 'extended agent card'],
  push: ['pushNotificationNotSupported', 'push notifications'],
} as const satisfies Readonly<Record<string, readonly [fault: FaultName, what: string]>>

const pushAbsent = {
  CreateTaskPushNotificationConfig: 'push',
  GetTaskPushNotificationConfig: 'push',
  ListTaskPushNotificationConfigs: 'push',
  DeleteTaskPushNotificationConfig: 'push',
} as const

/** All eleven operations of A2A 1.0 by name, for every binding. */
export function createOperations(deps: A2aOperationDeps): Operations {
  const admit = createAdmitMessage(deps)
  const { streaming, push_notifications } = deps.config.capabilities
  const table: Readonly<Record<OperationName, A2aOperation | keyof typeof absent>> = {
    SendMessage: createSendMessage(deps, admit),
    SendStreamingMessage: streaming ? createSendStreamingMessage(deps, admit) : 'streaming',
    GetTask: createGetTask(deps),
    ListTasks: createListTasks(deps),
    CancelTask: createCancelTask(deps),
    SubscribeToTask: streaming ? createSubscribeToTask(deps) : 'streaming',
    ...(push_notifications ? createPushOperations(deps) : pushAbsent),
    GetExtendedAgentCard: hasExtendedCard(deps.config) ? createGetExtendedCard(deps) : 'card',
  }
  const rows = Object.entries(table).map(([name, entry]) => [name, toOperation(name, entry)] as const)
  return new Map(rows)
}

function toOperation(name: string, entry: A2aOperation | keyof typeof absent): A2aOperation {
  if (typeof entry === 'function') return entry
  const [fault, what] = absent[entry]
  return async () => {
    throw new A2aRejection(fault, `Cannot ${name}: no ${what} here`)
  }
}
