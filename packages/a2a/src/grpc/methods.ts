import * as sdk from '@a2a-js/sdk'
import { A2AService } from '@a2a-js/sdk/server/grpc'
import type { MethodDefinition } from '@grpc/grpc-js'
import { A2aRejection } from '../format/errors.ts'
import type { OperationName } from '../format/wire.ts'
import { checkMessageBounds, sendShape } from './bound-message.ts'

/** The binary and the ProtoJSON form of one method's messages. */
export interface GrpcMethod {
  readonly operation: OperationName
  readonly path: string
  /** @throws A2aRejection `parseError`; `invalidParams` beyond the bounds */
  readParams(bytes: Uint8Array): unknown
  writeResult(result: object): Buffer
}

type Json<Value> = { fromJSON(json: unknown): Value; toJSON(value: Value): unknown }

interface Codec {
  readonly request: Json<never>
  readonly response: Pick<Json<never>, 'fromJSON'>
}

const empty = { fromJSON: () => ({}) }

/** The generated codecs of the protobuf file's messages. */
const codecs = {
  SendMessage: { request: sdk.SendMessageRequest, response: sdk.SendMessageResponse },
  SendStreamingMessage: { request: sdk.SendMessageRequest, response: sdk.StreamResponse },
  GetTask: { request: sdk.GetTaskRequest, response: sdk.Task },
  ListTasks: { request: sdk.ListTasksRequest, response: sdk.ListTasksResponse },
  CancelTask: { request: sdk.CancelTaskRequest, response: sdk.Task },
  SubscribeToTask: { request: sdk.SubscribeToTaskRequest, response: sdk.StreamResponse },
  CreateTaskPushNotificationConfig: {
    request: sdk.TaskPushNotificationConfig,
    response: sdk.TaskPushNotificationConfig,
  },
  GetTaskPushNotificationConfig: {
    request: sdk.GetTaskPushNotificationConfigRequest,
    response: sdk.TaskPushNotificationConfig,
  },
  ListTaskPushNotificationConfigs: {
    request: sdk.ListTaskPushNotificationConfigsRequest,
    response: sdk.ListTaskPushNotificationConfigsResponse,
  },
  DeleteTaskPushNotificationConfig: { request: sdk.DeleteTaskPushNotificationConfigRequest, response: empty },
  GetExtendedAgentCard: { request: sdk.GetExtendedAgentCardRequest, response: sdk.AgentCard },
} as const satisfies Readonly<Record<OperationName, { readonly request: unknown; readonly response: unknown }>>

type Definition = MethodDefinition<unknown, unknown>

/** The methods of the service `lf.a2a.v1.A2AService`, each with its operation. */
export const grpcMethods: readonly GrpcMethod[] = (Object.values(A2AService) as unknown as readonly Definition[]).map(
  definition => {
    const operation = definition.path.slice(definition.path.lastIndexOf('/') + 1) as OperationName
    return openMethod(operation, definition, codecs[operation] as unknown as Codec)
  },
)

function openMethod(operation: OperationName, definition: Definition, { request, response }: Codec): GrpcMethod {
  const isSend = operation === 'SendMessage' || operation === 'SendStreamingMessage'
  return {
    operation,
    path: definition.path,
    readParams(bytes) {
      try {
        checkMessageBounds(bytes, isSend ? sendShape : undefined)
        return request.toJSON(definition.requestDeserialize(bytes as Buffer) as never)
      } catch (cause) {
        if (cause instanceof A2aRejection) throw cause
        throw new A2aRejection('parseError', 'Cannot read request: it is not of this message type', { cause })
      }
    },
    writeResult: result => definition.responseSerialize(response.fromJSON(result)),
  }
}
