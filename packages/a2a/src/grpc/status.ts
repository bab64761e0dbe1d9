// Converts errors, headers and addresses between gRPC and the gateway.
import { BinaryWriter } from '@bufbuild/protobuf/wire'
import type { ServerInterceptingCall, ServiceError } from '@grpc/grpc-js'
import { Metadata, status } from '@grpc/grpc-js'
import type { ChannelContext } from '@postern/pipeline'
import { errorHeaders, reportError } from '../endpoint/answers.ts'
import type { A2aError } from '../format/errors.ts'
import { A2aRejection, errorDomain, wholeSeconds } from '../format/errors.ts'

/** The wire types of protobuf fields. */
const [varint, lengthDelimited] = [0, 2] as const

/** A length-delimited field of a protobuf message, whose value is a text or another message. */
type LengthDelimitedField = readonly [number: number, value: string | Uint8Array]

/** Converts an error to gRPC: status, message, and `google.rpc.Status` with its details in the trailers (A2A §10.6). */
export function toGrpcError(
  error: unknown,
  gateway: ChannelContext,
): Pick<ServiceError, 'code' | 'details' | 'metadata'> {
  const a2aError = reportError(error, gateway)
  const code = status[a2aError.type.grpc as keyof typeof status]
  const metadata = new Metadata()
  metadata.set('grpc-status-details-bin', Buffer.from(writeStatus(code, a2aError)))
  const { connection: _, ...headers } = errorHeaders(a2aError) as Readonly<Record<string, string>>
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
  return { code, details: a2aError.message, metadata }
}

/** Writes a google.rpc.Status. The field numbers are those of google/rpc/status.proto and google/rpc/error_details.proto. */
function writeStatus(code: number, { type: { reason }, message, violations, retryAfter }: A2aError): Uint8Array {
  const info = writeAny('google.rpc.ErrorInfo', [
    [1, reason],
    [2, errorDomain],
  ])
  const fieldViolations = violations.map(
    ({ field, description }): LengthDelimitedField => [
      1,
      writeFields([
        [1, field],
        [2, description],
      ]),
    ],
  )
  const details = [
    info,
    ...(violations.length > 0 ? [writeAny('google.rpc.BadRequest', fieldViolations)] : []),
    ...(retryAfter !== undefined ? [writeAny('google.rpc.RetryInfo', [[1, writeDuration(retryAfter)]])] : []),
  ]
  const fields = writeFields([[2, message], ...details.map((detail): LengthDelimitedField => [3, detail])])
  return new BinaryWriter().tag(1, varint).int32(code).raw(fields).finish()
}

/** Writes a google.protobuf.Duration of whole seconds. */
function writeDuration(seconds: number): Uint8Array {
  return new BinaryWriter().tag(1, varint).int64(wholeSeconds(seconds)).finish()
}

function writeAny(type: string, fields: readonly LengthDelimitedField[]): Uint8Array {
  return writeFields([
    [1, `type.googleapis.com/${type}`],
    [2, writeFields(fields)],
  ])
}

function writeFields(fields: readonly LengthDelimitedField[]): Uint8Array {
  const writer = new BinaryWriter()
  for (const [number, value] of fields) {
    writer.tag(number, lengthDelimited)
    if (typeof value === 'string') writer.string(value)
    else writer.bytes(value)
  }
  return writer.finish()
}

type PartialStatusObject = Parameters<ServerInterceptingCall['sendStatus']>[0]
type StatusSender = Pick<ServerInterceptingCall, 'sendStatus'>

/** The texts of grpc-js for calls with invalid bytes or headers, which it reports as INTERNAL or as an unknown method. */
const malformedCallProblems: readonly (readonly [details: RegExp, problem: string])[] = [
  [/^Invalid grpc-timeout /, 'its time-out is not valid'],
  [/^Failed to decompress /, 'its message is not compressed with the declared algorithm'],
  [/^Received no request message /, 'it has no message'],
  [/^Received a second request message /, 'it has more than one message'],
]

/** Returns the refusal of a malformed call, or undefined for every other status. */
function findRefusal({ code, details }: PartialStatusObject): A2aRejection | undefined {
  if (code !== status.INTERNAL && code !== status.UNIMPLEMENTED) return undefined
  const [, problem] = malformedCallProblems.find(([pattern]) => pattern.test(details ?? '')) ?? []
  return problem === undefined ? undefined : new A2aRejection('invalidRequest', `Cannot read request: ${problem}`)
}

/**
 * Ends a malformed call with the status of `refuse`. grpc-js ends such a call after all interceptors, so this function replaces `sendStatus` of the
 * call.
 */
export function refuseMalformed(call: StatusSender, refuse: (refusal: A2aRejection) => PartialStatusObject): void {
  const sendStatus = call.sendStatus.bind(call)
  call.sendStatus = status => {
    const refusal = findRefusal(status)
    sendStatus(refusal ? refuse(refusal) : status)
  }
}

/** Returns the metadata as headers, which the other bindings have. */
export function readMetadata(metadata: Metadata): Headers {
  const headers = new Headers()
  for (const name of Object.keys(metadata.getMap())) {
    if (name.endsWith('-bin')) continue
    for (const value of metadata.get(name)) headers.append(name, value.toString())
  }
  return headers
}

/** Reads the address in grpc-js's `address:port`, which has no brackets even for IPv6. */
export function readPeer(peer: string): string {
  return /^(.+):\d+$/.exec(peer)?.[1] ?? peer
}
