// Maps refusals and failures to the error codes of A2A in every binding.
import { CredentialRejection } from '@postern/http/tokens'
import type { FieldViolation, RejectionCode, RejectionOptions } from '@postern/message'
import { Rejection, Unavailable } from '@postern/message'

interface FaultRow {
  /** The JSON-RPC code (A2A §5.4, JSON-RPC 2.0 §5.1). We use -32000 if A2A has no code. */
  readonly code: number
  /** The value of `google.rpc.ErrorInfo.reason`. */
  readonly reason: string
  /** The status of the HTTP+JSON binding. */
  readonly http: number
  readonly grpc: string
  /** True for a fault of the transport, which keeps its HTTP status on JSON-RPC. An error of the protocol has 200. */
  readonly isTransport?: boolean
  /** The reason in the operator's list of refusals. */
  readonly refusal: RejectionCode
}

const row = (
  code: number,
  reason: string,
  http: number,
  grpc: string,
  refusal: RejectionCode,
  isTransport = false,
): FaultRow => ({ code, reason, http, grpc, refusal, isTransport })

/** All errors of A2A 1.0.1, for all bindings. */
const a2aFaults = {
  parseError: row(-32700, 'PARSE_ERROR', 400, 'INVALID_ARGUMENT', 'malformed'),
  invalidRequest: row(-32600, 'INVALID_REQUEST', 400, 'INVALID_ARGUMENT', 'malformed'),
  methodNotFound: row(-32601, 'METHOD_NOT_FOUND', 404, 'UNIMPLEMENTED', 'unsupported'),
  invalidParams: row(-32602, 'INVALID_PARAMS', 400, 'INVALID_ARGUMENT', 'malformed'),
  internal: row(-32603, 'INTERNAL', 500, 'INTERNAL', 'malformed', true),
  taskNotFound: row(-32001, 'TASK_NOT_FOUND', 404, 'NOT_FOUND', 'no_recipient'),
  taskNotCancelable: row(-32002, 'TASK_NOT_CANCELABLE', 400, 'FAILED_PRECONDITION', 'unsupported'),
  pushNotificationNotSupported: row(
    -32003,
    'PUSH_NOTIFICATION_NOT_SUPPORTED',
    400,
    'FAILED_PRECONDITION',
    'unsupported',
  ),
  unsupportedOperation: row(-32004, 'UNSUPPORTED_OPERATION', 400, 'FAILED_PRECONDITION', 'unsupported'),
  contentTypeNotSupported: row(-32005, 'CONTENT_TYPE_NOT_SUPPORTED', 400, 'INVALID_ARGUMENT', 'unsupported'),
  extensionSupportRequired: row(-32008, 'EXTENSION_SUPPORT_REQUIRED', 400, 'FAILED_PRECONDITION', 'unsupported'),
  versionNotSupported: row(-32009, 'VERSION_NOT_SUPPORTED', 400, 'FAILED_PRECONDITION', 'unsupported'),
  unauthenticated: row(-32000, 'UNAUTHENTICATED', 401, 'UNAUTHENTICATED', 'unsigned', true),
  permissionDenied: row(-32000, 'PERMISSION_DENIED', 403, 'PERMISSION_DENIED', 'forbidden', true),
  notFound: row(-32000, 'NOT_FOUND', 404, 'NOT_FOUND', 'no_recipient', true),
  methodNotAllowed: row(-32000, 'METHOD_NOT_ALLOWED', 405, 'UNIMPLEMENTED', 'unsupported', true),
  tooLarge: row(-32000, 'REQUEST_TOO_LARGE', 413, 'RESOURCE_EXHAUSTED', 'too_large', true),
  mediaTypeNotSupported: row(-32005, 'CONTENT_TYPE_NOT_SUPPORTED', 415, 'INVALID_ARGUMENT', 'unsupported', true),
  rateLimited: row(-32000, 'RATE_LIMITED', 429, 'RESOURCE_EXHAUSTED', 'rate_limited', true),
  unavailable: row(-32000, 'UNAVAILABLE', 503, 'UNAVAILABLE', 'malformed', true),
} as const satisfies Readonly<Record<string, FaultRow>>

export type FaultName = keyof typeof a2aFaults

/** A refusal with its A2A name. */
export class A2aRejection extends Rejection {
  readonly fault: FaultName

  constructor(fault: FaultName, message: string, options: RejectionOptions = {}) {
    super(a2aFaults[fault].refusal, message, options)
    this.fault = fault
  }
}

/** The refusal of a method if the path accepts other methods. */
export class MethodNotAllowed extends A2aRejection {
  readonly headers: Readonly<Record<string, string>>

  constructor(methods: readonly string[]) {
    const allow = [...new Set(methods)].join(', ')
    super('methodNotAllowed', `Cannot take request: only ${allow} is answered here`)
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

const faultOfCode: Readonly<Record<RejectionCode, FaultName>> = {
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

/** An error in the form of a binding. It reveals nothing about a bug. */
export interface A2aFault {
  readonly row: FaultRow
  readonly message: string
  readonly violations: readonly FieldViolation[]
  /** The time after which the client may retry, in seconds. Absent if unknown. */
  readonly retryAfter?: number | undefined
  /** The headers of the answer in each binding: the challenge for a rejected caller, or the methods of a path. */
  readonly headers: Readonly<Record<string, string>>
}

/** The time to retry, in seconds, if the failed dependency states none. */
const defaultRetryAfter = 5

export function toFault(error: unknown): A2aFault {
  if (error instanceof Rejection) {
    const name = error instanceof A2aRejection ? error.fault : faultOfCode[error.code]
    const { message, violations, retryAfter } = error
    const headers = error instanceof CredentialRejection || error instanceof MethodNotAllowed ? error.headers : {}
    return { row: a2aFaults[name], message, violations, retryAfter, headers }
  }
  const emptyDetails = { violations: [], headers: {} }
  if (error instanceof Unavailable) {
    const retryAfter = error.retryAfter ?? defaultRetryAfter
    return { ...emptyDetails, row: a2aFaults.unavailable, message: error.message, retryAfter }
  }
  return { ...emptyDetails, row: a2aFaults.internal, message: 'Internal error' }
}

/** The value of `google.rpc.ErrorInfo.domain` (A2A §9.5). */
export const errorDomain = 'a2a-protocol.org'

/** Returns the `details` of google.rpc.Status, the same in every binding (A2A §9.5, §11.6). */
export function toErrorDetails({ row: { reason }, violations, retryAfter }: A2aFault): readonly object[] {
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
