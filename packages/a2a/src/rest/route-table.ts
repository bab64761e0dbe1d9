import type { OperationName } from '../format/operation-names.ts'

/** Where an operation is in the HTTP+JSON binding (A2A §11.3). */
export interface RestRoute {
  readonly methods: readonly string[]
  /** `{id}` stands for one segment; the name is the member of the parameters it becomes. */
  readonly path: string
  readonly operation: OperationName
  /** Where the other parameters come from; of `lenient` bodies nothing is expected (older clients send `null`, or nothing). */
  readonly input: 'body' | 'lenient' | 'query'
}

const configs = '/tasks/{taskId}/pushNotificationConfigs'

export const restRoutes: readonly RestRoute[] = [
  { methods: ['POST'], path: '/message:send', operation: 'SendMessage', input: 'body' },
  { methods: ['POST'], path: '/message:stream', operation: 'SendStreamingMessage', input: 'body' },
  { methods: ['GET'], path: '/tasks', operation: 'ListTasks', input: 'query' },
  { methods: ['GET'], path: '/tasks/{id}', operation: 'GetTask', input: 'query' },
  { methods: ['POST'], path: '/tasks/{id}:cancel', operation: 'CancelTask', input: 'lenient' },
  // The protobuf file says GET, the prose of the specification POST.
  { methods: ['GET'], path: '/tasks/{id}:subscribe', operation: 'SubscribeToTask', input: 'query' },
  { methods: ['POST'], path: '/tasks/{id}:subscribe', operation: 'SubscribeToTask', input: 'lenient' },
  { methods: ['POST'], path: configs, operation: 'CreateTaskPushNotificationConfig', input: 'body' },
  { methods: ['GET'], path: configs, operation: 'ListTaskPushNotificationConfigs', input: 'query' },
  { methods: ['GET'], path: `${configs}/{id}`, operation: 'GetTaskPushNotificationConfig', input: 'query' },
  { methods: ['DELETE'], path: `${configs}/{id}`, operation: 'DeleteTaskPushNotificationConfig', input: 'query' },
  { methods: ['GET'], path: '/extendedAgentCard', operation: 'GetExtendedAgentCard', input: 'query' },
]
