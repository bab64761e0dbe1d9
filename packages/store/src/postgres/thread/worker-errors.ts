import {
  ConfigError,
  LeaseLost,
  parseJsonText,
  Rejection,
  type RejectionCode,
  Unavailable,
  Undeliverable,
} from '@postern/core'

/** An error as it crosses from one thread to the other. */
export interface SentError {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly members: Readonly<Record<string, unknown>>
  readonly cause: SentError | undefined
}

interface Rebuilding {
  readonly message: string
  readonly members: Readonly<Record<string, unknown>>
  readonly options: ErrorOptions
}

type Rebuild = (sent: Rebuilding) => Error

/** Errors that somebody tells apart by their class. */
const classes: Readonly<Record<string, Rebuild>> = {
  Rejection: ({ message, members, options }) =>
    new Rejection(members.code as RejectionCode, message, { ...members, ...options }),
  Unavailable: ({ message, members, options }) => new Unavailable(message, { ...members, ...options }),
  Undeliverable: ({ message, members, options }) => new Undeliverable(message, { ...members, ...options }),
  LeaseLost: ({ message, options }) => new LeaseLost(message, options),
  ConfigError: ({ members, options, message }) => {
    const { key, fix } = members as { readonly key: string; readonly fix: string }
    return new ConfigError(key, message.slice(`${key}: `.length, -`. ${fix}`.length), fix, options)
  },
}

export function sendError(error: unknown): SentError {
  if (!(error instanceof Error))
    return { name: 'Error', message: String(error), stack: undefined, members: {}, cause: undefined }
  const { name, message, stack, cause } = error
  return {
    name,
    message,
    stack,
    members: plain({ ...error }),
    cause: cause === undefined ? undefined : sendError(cause),
  }
}

/** Only what can be copied. */
function plain({ cause: _, ...members }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return parseJsonText(JSON.stringify(members)) as Readonly<Record<string, unknown>>
}

export function receiveError({ name, message, stack, members, cause }: SentError): Error {
  const options = cause ? { cause: receiveError(cause) } : {}
  const rebuild = Object.hasOwn(classes, name) ? classes[name] : undefined
  const error = rebuild?.({ message, members, options }) ?? Object.assign(new Error(message, options), members)
  // As an error has its name: beside its members.
  if (error.name !== name) Object.defineProperty(error, 'name', { value: name, configurable: true })
  if (stack !== undefined) error.stack = stack
  return error
}
