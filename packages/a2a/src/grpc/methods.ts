// Converts the protobuf messages of each gRPC method to JSON and back.
import * as sdk from '@a2a-js/sdk'
import { A2AService } from '@a2a-js/sdk/server/grpc'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import type { MethodDefinition } from '@grpc/grpc-js'
import { A2aRejection } from '../format/errors.ts'
import type { OperationName } from '../format/wire.ts'

/** The binary and the ProtoJSON form of one method's messages. */
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
interface Shape {
  readonly [field: number]: Shape
}

const leaf: Shape = {}

/** The shape of google.protobuf.Value, which can contain itself: in a Struct (5) or in a ListValue (6). */
const value = createValueShape()
const struct: Shape = { 1: { 2: value } }
const part: Shape = { 4: value, 5: struct }
const message: Shape = { 5: part, 6: struct }

/** The shape of SendMessageRequest. No other request contains anything of unlimited size. */
const sendShape: Shape = { 2: message, 3: leaf, 4: struct }

function createValueShape(): Shape {
  const shape: { [field: number]: Shape } = {}
  shape[5] = { 1: { 2: shape } }
  shape[6] = { 1: shape }
  return shape
}

/**
 * The most fields of a message. Four fields are one member of a Struct. The limits for JSON are exact, and these only reject absurd messages
 * before they are read.
 */
const maxFields = 200_000
/** The greatest depth of a message. A Struct within a Struct is three deeper. */
const maxDepth = 200

/**
 * Checks the bytes of a message before it is read, because many tiny fields cost a reader far more than their bytes.
 * @throws A2aRejection `invalidParams` for too many or too deep fields; an error for an invalid message
 */
function checkMessageBounds(bytes: Uint8Array, shape: Shape = leaf): void {
  const reader = new BinaryReader(bytes)
  let remainingFields = maxFields
  const walk = (end: number, shape: Shape, depth: number): void => {
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
