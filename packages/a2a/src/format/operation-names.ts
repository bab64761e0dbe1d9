/** The operations of A2A §3.1, by the names they have in JSON-RPC and gRPC. */
export const operationNames = [
  'SendMessage',
  'SendStreamingMessage',
  'GetTask',
  'ListTasks',
  'CancelTask',
  'SubscribeToTask',
  'CreateTaskPushNotificationConfig',
  'GetTaskPushNotificationConfig',
  'ListTaskPushNotificationConfigs',
  'DeleteTaskPushNotificationConfig',
  'GetExtendedAgentCard',
] as const

export type OperationName = (typeof operationNames)[number]

const names: ReadonlySet<string> = new Set(operationNames)

export function isOperationName(name: string): name is OperationName {
  return names.has(name)
}
