// Declares the errors of the gateway, from which a channel derives its answer and a worker its retries.

/** The reasons for refusing a request of a peer. They are protocol-neutral, and each channel translates them in one place. */
export const rejectionCodes = [
  'malformed',
  'too_large',
  'unsupported',
  'unsigned',
  'signature_invalid',
  'signer_mismatch',
  'expired',
  'replayed',
  'forbidden',
  'no_recipient',
  'rate_limited',
] as const

export type RejectionCode = (typeof rejectionCodes)[number]

/** The longest wait that anybody may ask for, seconds. */
export const maxRetryAfterSeconds = 7 * 86_400

/**
 * Returns a wait that can be kept, seconds: at most a week, and undefined if it is no time. Authors of agents name it, also in copies of these
 * classes that do not bound it.
 */
export function boundRetryAfter(seconds: unknown): number | undefined {
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds < 0) return undefined
  return Math.min(seconds, maxRetryAfterSeconds)
}

/** One faulty member of the peer's document, with its fault. */
export interface FieldViolation {
  readonly field: string
  readonly description: string
}

export interface RejectionOptions extends ErrorOptions {
  /** The faulty members; safe to show the peer. */
  readonly violations?: readonly FieldViolation[]
  /** The seconds after which a retry makes sense, at most a week. */
  readonly retryAfter?: number
}

/**
 * Lets `instanceof` recognize an error of another copy of this module by its name and its code. An agent has a copy of its own if its modules are
 * loaded anew, or if it brings its own installation.
 */
function recognizeCopies(errorClass: abstract new (...args: never) => Error, name: string, codes: readonly string[]) {
  function isInstance(this: unknown, value: unknown): boolean {
    // Subclasses inherit this function, and are told by their prototypes.
    if (this !== errorClass) return Function.prototype[Symbol.hasInstance].call(this, value)
    const { name: valueName, code } = (value ?? {}) as { readonly name?: unknown; readonly code?: unknown }
    return typeof value === 'object' && valueName === name && codes.includes(String(code))
  }
  Object.defineProperty(errorClass, Symbol.hasInstance, { value: isInstance })
}

/**
 * The refusal of a peer's request. `message` is safe to show the peer; `cause` goes only to the log. It has no stack, which would be a tenth of the
 * cost of a refusal, because floods consist of refusals.
 */
export class Rejection extends Error {
  static {
    recognizeCopies(Rejection, 'Rejection', rejectionCodes)
  }

  override readonly name = 'Rejection'
  readonly code: RejectionCode
  readonly violations: readonly FieldViolation[]
  readonly retryAfter: number | undefined

  constructor(code: RejectionCode, message: string, options: RejectionOptions = {}) {
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message, options)
    Error.stackTraceLimit = stackTraceLimit
    this.code = code
    this.violations = options.violations ?? []
    this.retryAfter = boundRetryAfter(options.retryAfter)
  }
}

interface FarSideOptions extends ErrorOptions {
  /** The HTTP status of the other server; absent if it gave none, or got no request. */
  readonly status?: number
  /** The first line of its answer, for the operator. */
  readonly replyLine?: string | undefined
}

interface UnavailableOptions extends FarSideOptions {
  /** The seconds after which the other server asked us to retry, at most a week. */
  readonly retryAfter?: number | undefined
  /** True if a party other than the host named the address, so that the answer proves nothing about the host. */
  readonly isHearsay?: boolean
}

/** A temporary failure: a service on which we depend did not answer, so a retry may succeed. */
export class Unavailable extends Error {
  static {
    recognizeCopies(Unavailable, 'Unavailable', ['unavailable'])
  }

  override readonly name = 'Unavailable'
  readonly code = 'unavailable' as const
  readonly retryAfter: number | undefined
  readonly status: number | undefined
  readonly replyLine: string | undefined
  readonly isHearsay: boolean

  constructor(message: string, options: UnavailableOptions = {}) {
    super(message, options)
    this.retryAfter = boundRetryAfter(options.retryAfter)
    this.status = options.status
    this.replyLine = options.replyLine
    this.isHearsay = options.isHearsay === true
  }
}

/** The error for a key that no gateway has created yet, in a store that is opened only for reading. */
export class KeyNotMade extends Unavailable {
  constructor() {
    super('Cannot read the keys: no gateway has made them yet. Start the gateway, which makes them')
  }
}

interface UndeliverableOptions extends FarSideOptions {
  /** True if the address is at fault, so that every delivery to it is refused. */
  readonly isDeadAddress?: boolean
  /** True if the gateway itself no longer sends anything to the address. */
  readonly isSuppressed?: boolean
}

/** A permanent failure: the peer refused for good, and the delivery becomes a dead letter with a reason for the operator. */
export class Undeliverable extends Error {
  static {
    recognizeCopies(Undeliverable, 'Undeliverable', ['undeliverable'])
  }

  override readonly name = 'Undeliverable'
  readonly code = 'undeliverable' as const
  readonly status: number | undefined
  readonly replyLine: string | undefined
  readonly isDeadAddress: boolean
  readonly isSuppressed: boolean

  constructor(message: string, options: UndeliverableOptions = {}) {
    super(message, options)
    this.status = options.status
    this.replyLine = options.replyLine
    this.isDeadAddress = options.isDeadAddress === true
    this.isSuppressed = options.isSuppressed === true
  }
}

/** An error in the configuration, with the key and the fix. It is thrown only at the start. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly key: string
  readonly fix: string

  constructor(key: string, problem: string, fix: string, options: ErrorOptions = {}) {
    super(`${key}: ${problem}. ${fix}`, options)
    this.key = key
    this.fix = fix
  }
}

/** The error for an answer of an agent that breaks the rules of answers. */
export class InvalidAnswer extends Error {
  override readonly name = 'InvalidAnswer'
}

/** The error for a result of work whose lease another worker holds by now. The result must be discarded. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

/** The error for a person's state that has changed since a turn computed the next state from it. */
export class StateChanged extends Error {
  override readonly name = 'StateChanged'
}

const abortTexts = {
  canceled: 'canceled',
  deleted: 'its author has taken the message back',
  interrupted: 'interrupted by a newer message',
  edited: 'its author has changed the message',
  shutting_down: 'the gateway is shutting down',
} as const

/**
 * The reason why a turn's signal aborts, besides a `TimeoutError`. The turn ends if its task was `canceled`, its message was
 * `deleted`, or a newer message `interrupted` it. It runs again if its message was `edited`, or if the process is
 * `shutting_down`.
 */
export class TurnAborted extends Error {
  override readonly name = 'TurnAborted'
  readonly kind: keyof typeof abortTexts

  constructor(kind: keyof typeof abortTexts) {
    super(abortTexts[kind])
    this.kind = kind
  }
}
