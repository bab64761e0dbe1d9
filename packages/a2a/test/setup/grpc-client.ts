// Calls the gRPC service with a plain client.
import { A2AService } from '@a2a-js/sdk/server/grpc'
import type { Interceptor, MethodDefinition, StatusObject } from '@grpc/grpc-js'
import { Client, credentials, InterceptingCall, Metadata } from '@grpc/grpc-js'

/** Adds a bearer token and the version to every call. */
export function identify(token: () => string): Interceptor {
  return (options, nextCall) =>
    new InterceptingCall(nextCall(options), {
      start(metadata, listener, next) {
        metadata.set('authorization', `Bearer ${token()}`)
        metadata.set('a2a-version', '1.0')
        next(metadata, listener)
      },
    })
}

/** The result of one call: its messages and its status. */
export interface GrpcAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: tests read what came over the wire
  readonly messages: any[]
  readonly initial: Metadata
  readonly status: StatusObject
  /** The `@type` and text of all details in `google.rpc.Status`. */
  readonly details: string
}

export interface GrpcOptions {
  readonly metadata?: Readonly<Record<string, string>> | undefined
  /** The bytes that are sent in place of a message. */
  readonly bytes?: Buffer | undefined
}

/** Opens a plain client of the service, which hides nothing of the wire format. */
export function openGrpcClient(port: number, channel = credentials.createInsecure()) {
  const client = new Client(`localhost:${port}`, channel, { 'grpc.max_send_message_length': -1 })
  const start = (name: keyof typeof A2AService, request: unknown, { metadata = {}, bytes }: GrpcOptions = {}) => {
    const method = A2AService[name] as unknown as MethodDefinition<unknown, unknown>
    const headers = new Metadata()
    for (const [key, value] of Object.entries(metadata)) headers.set(key, value)
    const write = (value: unknown) => bytes ?? method.requestSerialize(value)
    return client.makeServerStreamRequest(method.path, write, method.responseDeserialize, request, headers)
  }
  return {
    start,
    /** Calls a method. Unary methods, too, are read as a stream of one message. */
    call(name: keyof typeof A2AService, request: unknown, options?: GrpcOptions): Promise<GrpcAnswer> {
      return new Promise(resolve => {
        const messages: unknown[] = []
        let initial = new Metadata()
        const call = start(name, request, options)
        call.on('metadata', metadata => {
          initial = metadata
        })
        call.on('data', message => messages.push(message))
        call.on('error', () => {})
        call.on('status', status => resolve({ messages, initial, status, details: readDetails(status) }))
      })
    },
    close: () => client.close(),
  }
}

function readDetails({ metadata }: StatusObject): string {
  return metadata.get('grpc-status-details-bin').map(String).join('')
}
