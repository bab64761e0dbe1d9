/** The reasons for refusing what a peer sent. They are protocol-neutral; each channel translates them once. */
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

/** One member of the peer's document that is wrong, and how. */
export interface FieldViolation {
  readonly field: string
  readonly description: string
}

export interface RejectionOptions extends ErrorOptions {
  /** The faulty members; safe to show the peer. */
  readonly violations?: readonly FieldViolation[]
  /** Seconds after which trying again makes sense. */
  readonly retryAfter?: number
}

/**
 * The peer sent something that is not accepted. `message` is safe to show the peer; `cause` goes only to the log. It has no
 * stack, which would be a tenth of what a refusal costs: floods consist of refusals.
 */
export class Rejection extends Error {
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
    this.retryAfter = options.retryAfter
  }
}

interface FarSideOptions extends ErrorOptions {
  /** The answer of the far side (an HTTP status); absent when it gave none, or was not asked. */
  readonly status?: number
  /** The first line of its answer, for the operator. */
  readonly replyLine?: string | undefined
}

interface UnavailableOptions extends FarSideOptions {
  /** Seconds after which the far side asked us to try again. */
  readonly retryAfter?: number | undefined
  /** True when another party than the host named the address, so the answer proves nothing about the host. */
  readonly isHearsay?: boolean
}

/** Something we depend on did not answer: time heals it. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
  readonly retryAfter: number | undefined
  readonly status: number | undefined
  readonly replyLine: string | undefined
  readonly isHearsay: boolean

  constructor(message: string, options: UnavailableOptions = {}) {
    super(message, options)
    this.retryAfter = options.retryAfter
    this.status = options.status
    this.replyLine = options.replyLine
    this.isHearsay = options.isHearsay === true
  }
}

interface UndeliverableOptions extends FarSideOptions {
  /** True when it is the address that is at fault: whatever is sent there is refused. */
  readonly isDeadAddress?: boolean
}

/** The far side refused for good: a dead letter with a reason an operator can read. */
export class Undeliverable extends Error {
  override readonly name = 'Undeliverable'
  readonly status: number | undefined
  readonly replyLine: string | undefined
  readonly isDeadAddress: boolean

  constructor(message: string, options: UndeliverableOptions = {}) {
    super(message, options)
    this.status = options.status
    this.replyLine = options.replyLine
    this.isDeadAddress = options.isDeadAddress === true
  }
}

/** The configuration is wrong: names the key and how to fix it. Thrown at start only. */
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

/** A worker returned work whose lease another worker holds by now. Its result must be discarded. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

const abortTexts = {
  canceled: 'canceled',
  deleted: 'its author has taken the message back',
  interrupted: 'interrupted by a newer message',
  edited: 'its author has changed the message',
  shutting_down: 'the gateway is shutting down',
} as const

/**
 * The reason why a turn's signal aborts, beside a `TimeoutError`. Final ones: its task was `canceled`, its message was
 * `deleted`, or `interrupted` by a newer one of its sender. Temporary ones, after which the turn runs again: its
 * message was `edited`, or the process is `shutting_down`.
 */
export class TurnAborted extends Error {
  override readonly name = 'TurnAborted'
  readonly kind: keyof typeof abortTexts

  constructor(kind: keyof typeof abortTexts) {
    super(abortTexts[kind])
    this.kind = kind
  }
}
