import type { OperationName } from '../format/wire.ts'

/** The path of an operation in the HTTP+JSON binding (A2A §11.3). */
export interface RestRoute {
  readonly methods: readonly string[]
  /** `{id}` is one segment; its name is the member of the parameters. */
  readonly path: string
  readonly operation: OperationName
  /** The source of the other parameters. `lenient` bodies may be empty or anything else, because older clients send `null` or nothing. */
  readonly input: 'body' | 'lenient' | 'query'
}

const configs = '/tasks/{taskId}/pushNotificationConfigs'

export const restRoutes: readonly RestRoute[] = [
  { methods: ['POST'], path: '/message:send', operation: 'SendMessage', input: 'body' },
  { methods: ['POST'], path: '/message:stream', operation: 'SendStreamingMessage', input: 'body' },
  { methods: ['GET'], path: '/tasks', operation: 'ListTasks', input: 'query' },
  { methods: ['GET'], path: '/tasks/{id}', operation: 'GetTask', input: 'query' },
  { methods: ['POST'], path: '/tasks/{id}:cancel', operation: 'CancelTask', input: 'lenient' },
  // The protobuf file says GET; the specification's text says POST.
  { methods: ['GET'], path: '/tasks/{id}:subscribe', operation: 'SubscribeToTask', input: 'query' },
  { methods: ['POST'], path: '/tasks/{id}:subscribe', operation: 'SubscribeToTask', input: 'lenient' },
  { methods: ['POST'], path: configs, operation: 'CreateTaskPushNotificationConfig', input: 'body' },
  { methods: ['GET'], path: configs, operation: 'ListTaskPushNotificationConfigs', input: 'query' },
  { methods: ['GET'], path: `${configs}/{id}`, operation: 'GetTaskPushNotificationConfig', input: 'query' },
  { methods: ['DELETE'], path: `${configs}/{id}`, operation: 'DeleteTaskPushNotificationConfig', input: 'query' },
  { methods: ['GET'], path: '/extendedAgentCard', operation: 'GetExtendedAgentCard', input: 'query' },
]
