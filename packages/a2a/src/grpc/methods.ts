// Converts the protobuf messages of each gRPC method to JSON and back.
import * as sdk from '@a2a-js/sdk'
import { A2AService } from '@a2a-js/sdk/server/grpc'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import type { MethodDefinition } from '@grpc/grpc-js'
import { A2aRejection } from '../format/errors.ts'
import type { OperationName } from '../format/wire.ts'

/** A method that converts its messages between protobuf and ProtoJSON. */
export type GrpcMethod = ReturnType<typeof openMethod>

type JsonCodec<Value> = { fromJSON(json: unknown): Value; toJSON(value: Value): unknown }

interface Codec {
  readonly request: JsonCodec<never>
  readonly response: Pick<JsonCodec<never>, 'fromJSON'>
}

const emptyMessage = { fromJSON: () => ({}) }

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
  DeleteTaskPushNotificationConfig: { request: sdk.DeleteTaskPushNotificationConfigRequest, response: emptyMessage },
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

function openMethod(operation: OperationName, definition: Definition, { request, response }: Codec) {
  const isSend = operation === 'SendMessage' || operation === 'SendStreamingMessage'
  return {
    operation,
    path: definition.path,
    /** Reads the parameters of a call from its message. @throws A2aRejection `parseError`; `invalidParams` beyond the limits */
    readParams(bytes: Uint8Array): unknown {
      try {
        checkMessageBounds(bytes, isSend ? sendShape : undefined)
        return request.toJSON(definition.requestDeserialize(bytes as Buffer) as never)
      } catch (cause) {
        if (cause instanceof A2aRejection) throw cause
        throw new A2aRejection('parseError', 'Cannot read request: it is not of this message type', { cause })
      }
    },
    writeResult: (result: object) => definition.responseSerialize(response.fromJSON(result)),
  }
}

/** The field numbers of a message that contain messages. */
interface MessageShape {
  readonly [field: number]: MessageShape
}

const emptyShape: MessageShape = {}

/** The shape of google.protobuf.Value, which can contain itself in a Struct (5) or in a ListValue (6). */
const valueShape = createValueShape()
const structShape: MessageShape = { 1: { 2: valueShape } }
const partShape: MessageShape = { 4: valueShape, 5: structShape }
const messageShape: MessageShape = { 5: partShape, 6: structShape }

/** The shape of SendMessageRequest. No other request contains anything of unlimited size. */
const sendShape: MessageShape = { 2: messageShape, 3: emptyShape, 4: structShape }

function createValueShape(): MessageShape {
  const shape: { [field: number]: MessageShape } = {}
  shape[5] = { 1: { 2: shape } }
  shape[6] = { 1: shape }
  return shape
}

/**
 * The most fields of a message. One member of a Struct has four fields. The exact limits are those for JSON, and these limits only reject absurd
 * messages before they are read.
 */
const maxFields = 200_000
/** The greatest depth of a message. Each nested Struct adds three levels. */
const maxDepth = 200

/**
 * Checks the bytes of a message before it is read, because many tiny fields cost a reader far more than their bytes.
 * @throws A2aRejection `invalidParams` for too many or too deep fields; an error for an invalid message
 */
function checkMessageBounds(bytes: Uint8Array, shape: MessageShape = emptyShape): void {
  const reader = new BinaryReader(bytes)
  let remainingFields = maxFields
  const walk = (end: number, shape: MessageShape, depth: number): void => {
    if (depth > maxDepth) throw refuseMessage('it is nested too deep')
    while (reader.pos < end) {
      remainingFields -= 1
      if (remainingFields < 0) throw refuseMessage(`more than ${maxFields} fields`)
      const [field, type] = reader.tag()
      const nestedShape = type === lengthDelimited ? shape[field] : undefined
      if (nestedShape) walk(readEnd(reader, end), nestedShape, depth + 1)
      else reader.skip(type, field)
    }
  }
  walk(reader.len, shape, 0)
}

const lengthDelimited = 2

function readEnd(reader: BinaryReader, end: number): number {
  const size = reader.uint32()
  if (reader.pos + size > end) throw new RangeError('a field is longer than its message')
  return reader.pos + size
}

function refuseMessage(problem: string): A2aRejection {
  return new A2aRejection('invalidParams', `Cannot read request: ${problem}`)
}
