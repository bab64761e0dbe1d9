import { BinaryWriter } from '@bufbuild/protobuf/wire'
import type { ServiceError } from '@grpc/grpc-js'
import { Metadata, status } from '@grpc/grpc-js'
import type { ChannelContext } from '@postern/core'
import { faultHeaders, openFault } from '../endpoint/answers.ts'
import type { A2aFault } from '../format/errors.ts'
import { errorDomain, wholeSeconds } from '../format/errors.ts'

/** A field of a protobuf message: text or another message. */
type Field = readonly [number: number, value: string | Uint8Array]

/** An error in gRPC: status, message, and `google.rpc.Status` with its details in the trailers (A2A §10.6). */
export function toGrpcError(
  error: unknown,
  gateway: ChannelContext,
): Pick<ServiceError, 'code' | 'details' | 'metadata'> {
  const fault = openFault(error, gateway)
  const code = status[fault.row.grpc as keyof typeof status]
  const metadata = new Metadata()
  metadata.set('grpc-status-details-bin', Buffer.from(writeStatus(code, fault)))
  const { connection: _, ...headers } = faultHeaders(fault) as Readonly<Record<string, string>>
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
  return { code, details: fault.message, metadata }
}

function writeStatus(code: number, { row: { reason }, message, violations, retryAfter }: A2aFault): Uint8Array {
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

/** google.protobuf.Duration, of whole seconds. */
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
