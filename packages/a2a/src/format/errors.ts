// Maps refusals and failures to the error codes of A2A in every binding.
import { CredentialRejection } from '@postern/http/tokens'
import type { FieldViolation, RejectionCode, RejectionOptions } from '@postern/message'
import { Rejection, Unavailable } from '@postern/message'

interface A2aErrorType {
  /** The JSON-RPC code (A2A §5.4, JSON-RPC 2.0 §5.1). We use -32000 if A2A has no code. */
  readonly code: number
  /** The value of `google.rpc.ErrorInfo.reason`. */
  readonly reason: string
  /** The status of the HTTP+JSON binding. */
  readonly http: number
  readonly grpc: string
  /** True for an error of the transport, which keeps its HTTP status on JSON-RPC. An error of the protocol has 200. */
  readonly isTransport?: boolean
  /** The reason in the operator's list of refusals. */
  readonly refusal: RejectionCode
}

type ErrorColumns = readonly [code: number, reason: string, http: number, grpc: string, refusal: RejectionCode]

/** Creates the type of an error of the protocol, which JSON-RPC answers with HTTP 200. */
const protocolError = (...[code, reason, http, grpc, refusal]: ErrorColumns): A2aErrorType => ({
  code,
  reason,
  http,
  grpc,
  refusal,
})

/** Creates the type of an error of the transport, which keeps its HTTP status on JSON-RPC. */
const transportError = (...columns: ErrorColumns): A2aErrorType => ({ ...protocolError(...columns), isTransport: true })

/** All errors of A2A 1.0.1, for all bindings. */
const a2aErrorTypes = {
  parseError: protocolError(-32700, 'PARSE_ERROR', 400, 'INVALID_ARGUMENT', 'malformed'),
  invalidRequest: protocolError(-32600, 'INVALID_REQUEST', 400, 'INVALID_ARGUMENT', 'malformed'),
  methodNotFound: protocolError(-32601, 'METHOD_NOT_FOUND', 404, 'UNIMPLEMENTED', 'unsupported'),
  invalidParams: protocolError(-32602, 'INVALID_PARAMS', 400, 'INVALID_ARGUMENT', 'malformed'),
  internal: transportError(-32603, 'INTERNAL', 500, 'INTERNAL', 'malformed'),
  taskNotFound: protocolError(-32001, 'TASK_NOT_FOUND', 404, 'NOT_FOUND', 'no_recipient'),
  taskNotCancelable: protocolError(-32002, 'TASK_NOT_CANCELABLE', 400, 'FAILED_PRECONDITION', 'unsupported'),
  pushNotificationNotSupported: protocolError(
    -32003,
    'PUSH_NOTIFICATION_NOT_SUPPORTED',
    400,
    'FAILED_PRECONDITION',
    'unsupported',
  ),
  unsupportedOperation: protocolError(-32004, 'UNSUPPORTED_OPERATION', 400, 'FAILED_PRECONDITION', 'unsupported'),
  contentTypeNotSupported: protocolError(-32005, 'CONTENT_TYPE_NOT_SUPPORTED', 400, 'INVALID_ARGUMENT', 'unsupported'),
  extensionSupportRequired: protocolError(
    -32008,
    'EXTENSION_SUPPORT_REQUIRED',
    400,
    'FAILED_PRECONDITION',
    'unsupported',
  ),
  versionNotSupported: protocolError(-32009, 'VERSION_NOT_SUPPORTED', 400, 'FAILED_PRECONDITION', 'unsupported'),
  unauthenticated: transportError(-32000, 'UNAUTHENTICATED', 401, 'UNAUTHENTICATED', 'unsigned'),
  permissionDenied: transportError(-32000, 'PERMISSION_DENIED', 403, 'PERMISSION_DENIED', 'forbidden'),
  notFound: transportError(-32000, 'NOT_FOUND', 404, 'NOT_FOUND', 'no_recipient'),
  methodNotAllowed: transportError(-32000, 'METHOD_NOT_ALLOWED', 405, 'UNIMPLEMENTED', 'unsupported'),
  tooLarge: transportError(-32000, 'REQUEST_TOO_LARGE', 413, 'RESOURCE_EXHAUSTED', 'too_large'),
  mediaTypeNotSupported: transportError(-32005, 'CONTENT_TYPE_NOT_SUPPORTED', 415, 'INVALID_ARGUMENT', 'unsupported'),
  rateLimited: transportError(-32000, 'RATE_LIMITED', 429, 'RESOURCE_EXHAUSTED', 'rate_limited'),
  unavailable: transportError(-32000, 'UNAVAILABLE', 503, 'UNAVAILABLE', 'malformed'),
} as const satisfies Readonly<Record<string, A2aErrorType>>

export type A2aErrorName = keyof typeof a2aErrorTypes

/** A rejection with the name of its A2A error. */
export class A2aRejection extends Rejection {
  readonly errorName: A2aErrorName

  constructor(fault: A2aErrorName, message: string, options: RejectionOptions = {}) {
    super(a2aErrorTypes[fault].refusal, message, options)
    this.errorName = fault
  }
}

/** The error for a method that the path does not accept. */
export class MethodNotAllowed extends A2aRejection {
  readonly headers: Readonly<Record<string, string>>

  constructor(methods: readonly string[]) {
    const allow = [...new Set(methods)].join(', ')
    super('methodNotAllowed', `Cannot take request: this path accepts only ${allow}`)
    this.headers = { allow }
  }
}

/** Refuses one member of a request. `subject` says which operation failed, as in "Cannot SendMessage". */
export function refuseField(
  subject: string,
  field: string,
  description: string,
  options: ErrorOptions = {},
): A2aRejection {
  const violations = [{ field, description }]
  return new A2aRejection('invalidParams', `${subject}: ${field} ${description}`, { violations, ...options })
}

const errorNameOfCode: Readonly<Record<RejectionCode, A2aErrorName>> = {
  malformed: 'invalidParams',
  too_large: 'tooLarge',
  unsupported: 'unsupportedOperation',
  unsigned: 'unauthenticated',
  signature_invalid: 'unauthenticated',
  signer_mismatch: 'unauthenticated',
  expired: 'unauthenticated',
  replayed: 'unauthenticated',
  forbidden: 'permissionDenied',
  no_recipient: 'notFound',
  rate_limited: 'rateLimited',
}

/** An error of A2A for any binding. It reveals nothing about a bug. */
export interface A2aError {
  readonly type: A2aErrorType
  readonly message: string
  readonly violations: readonly FieldViolation[]
  /** The time after which the client may retry, in seconds. Absent if unknown. */
  readonly retryAfter?: number | undefined
  /** The headers of the response in each binding. They contain the challenge for a rejected caller, or the methods of a path. */
  readonly headers: Readonly<Record<string, string>>
}

/** The time to retry, in seconds, if the failed dependency states none. */
const defaultRetryAfter = 5

/** Returns the A2A error for a thrown error. */
export function toA2aError(error: unknown): A2aError {
  if (error instanceof Rejection) {
    const name = error instanceof A2aRejection ? error.errorName : errorNameOfCode[error.code]
    const { message, violations, retryAfter } = error
    const headers = error instanceof CredentialRejection || error instanceof MethodNotAllowed ? error.headers : {}
    return { type: a2aErrorTypes[name], message, violations, retryAfter, headers }
  }
  const emptyDetails = { violations: [], headers: {} }
  if (error instanceof Unavailable) {
    const retryAfter = error.retryAfter ?? defaultRetryAfter
    return { ...emptyDetails, type: a2aErrorTypes.unavailable, message: error.message, retryAfter }
  }
  return { ...emptyDetails, type: a2aErrorTypes.internal, message: 'Internal error' }
}

/** The value of `google.rpc.ErrorInfo.domain` (A2A §9.5). */
export const errorDomain = 'a2a-protocol.org'

/** Returns the `details` of google.rpc.Status, the same in every binding (A2A §9.5, §11.6). */
export function toErrorDetails({ type: { reason }, violations, retryAfter }: A2aError): readonly object[] {
  const type = (name: string) => ({ '@type': `type.googleapis.com/google.rpc.${name}` })
  return [
    { ...type('ErrorInfo'), reason, domain: errorDomain },
    ...(violations.length > 0 ? [{ ...type('BadRequest'), fieldViolations: violations }] : []),
    ...(retryAfter !== undefined ? [{ ...type('RetryInfo'), retryDelay: `${wholeSeconds(retryAfter)}s` }] : []),
  ]
}

/** Returns whole seconds, which `Retry-After` requires. */
export function wholeSeconds(seconds: number): number {
  return Math.max(1, Math.ceil(seconds))
}
