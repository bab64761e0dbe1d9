// Converts errors, headers and addresses between gRPC and the gateway.
import { BinaryWriter } from '@bufbuild/protobuf/wire'
import type { ServerInterceptingCall, ServiceError } from '@grpc/grpc-js'
import { Metadata, status } from '@grpc/grpc-js'
import type { ChannelContext } from '@postern/pipeline'
import { errorHeaders, reportError } from '../endpoint/answers.ts'
import type { A2aError } from '../format/errors.ts'
import { A2aRejection, errorDomain, wholeSeconds } from '../format/errors.ts'

/** A field of a protobuf message: text or another message. */
type Field = readonly [number: number, value: string | Uint8Array]

/** Converts an error to gRPC: status, message, and `google.rpc.Status` with its details in the trailers (A2A §10.6). */
export function toGrpcError(
  error: unknown,
  gateway: ChannelContext,
): Pick<ServiceError, 'code' | 'details' | 'metadata'> {
  const fault = reportError(error, gateway)
  const code = status[fault.type.grpc as keyof typeof status]
  const metadata = new Metadata()
  metadata.set('grpc-status-details-bin', Buffer.from(writeStatus(code, fault)))
  const { connection: _, ...headers } = errorHeaders(fault) as Readonly<Record<string, string>>
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
  return { code, details: fault.message, metadata }
}

function writeStatus(code: number, { type: { reason }, message, violations, retryAfter }: A2aError): Uint8Array {
  const info = writeAny('google.rpc.ErrorInfo', [
    [1, reason],
    [2, errorDomain],
  ])
  const request = violations.map(
    ({ field, description }): Field => [
      1,
      writeFields([
        [1, field],
        [2, description],
      ]),
    ],
  )
  const details = [
    info,
    ...(violations.length > 0 ? [writeAny('google.rpc.BadRequest', request)] : []),
    ...(retryAfter !== undefined ? [writeAny('google.rpc.RetryInfo', [[1, writeDuration(retryAfter)]])] : []),
  ]
  const fields = writeFields([[2, message], ...details.map((detail): Field => [3, detail])])
  return new BinaryWriter().uint32(8).int32(code).raw(fields).finish()
}

/** Writes a google.protobuf.Duration of whole seconds. */
function writeDuration(seconds: number): Uint8Array {
  return new BinaryWriter().uint32(8).int64(wholeSeconds(seconds)).finish()
}

function writeAny(type: string, fields: readonly Field[]): Uint8Array {
  return writeFields([
    [1, `type.googleapis.com/${type}`],
    [2, writeFields(fields)],
  ])
}

const lengthDelimited = 2

function writeFields(fields: readonly Field[]): Uint8Array {
  const writer = new BinaryWriter()
  for (const [number, value] of fields) {
    writer.tag(number, lengthDelimited)
    if (typeof value === 'string') writer.string(value)
    else writer.bytes(value)
  }
  return writer.finish()
}

type PartialStatusObject = Parameters<ServerInterceptingCall['sendStatus']>[0]
type InnerCall = Pick<ServerInterceptingCall, 'sendStatus'>

/** The texts of grpc-js for calls with invalid bytes or headers. It reports them as INTERNAL or as an unknown method. */
const problems: readonly (readonly [details: RegExp, problem: string])[] = [
  [/^Invalid grpc-timeout /, 'its time-out is not valid'],
  [/^Failed to decompress /, 'its message is not compressed as it says'],
  [/^Received no request message /, 'it has no message'],
  [/^Received a second request message /, 'it has more than one message'],
]

/** Returns the refusal of a malformed call, or undefined for every other status. */
function findRefusal({ code, details }: PartialStatusObject): A2aRejection | undefined {
  if (code !== status.INTERNAL && code !== status.UNIMPLEMENTED) return undefined
  const [, problem] = problems.find(([pattern]) => pattern.test(details ?? '')) ?? []
  return problem === undefined ? undefined : new A2aRejection('invalidRequest', `Cannot read request: ${problem}`)
}

/** Ends a malformed call with the status of `refuse`. grpc-js ends such a call after all interceptors, so this must be set on the call itself. */
export function refuseMalformed(call: InnerCall, refuse: (refusal: A2aRejection) => PartialStatusObject): void {
  const sendStatus = call.sendStatus.bind(call)
  call.sendStatus = status => {
    const refusal = findRefusal(status)
    sendStatus(refusal ? refuse(refusal) : status)
  }
}

/** Returns the metadata as headers, as in the other bindings. */
export function readMetadata(metadata: Metadata): Headers {
  const headers = new Headers()
  for (const name of Object.keys(metadata.getMap())) {
    if (name.endsWith('-bin')) continue
    for (const value of metadata.get(name)) headers.append(name, value.toString())
  }
  return headers
}

/** Reads the peer's `address:port`, which is without brackets for IPv6 too. */
export function readPeer(peer: string): string {
  return /^(.+):\d+$/.exec(peer)?.[1] ?? peer
}
