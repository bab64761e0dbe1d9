// Declares the messages that an isolated agent's thread and the gateway exchange.
import type { NormalizedMessage } from '@postern/message'
import { Rejection, Unavailable, Undeliverable } from '@postern/message'
import type { AgentContext, ForgottenPerson, HistoryView } from '@postern/pipeline'

/** The module that a thread runs. */
export interface AgentWorkerOptions {
  readonly url: string
}

/** The part of a turn's context that is data. */
export interface TurnSnapshot {
  readonly message: NormalizedMessage
  readonly view: HistoryView
  readonly contextFields: Pick<
    AgentContext,
    'thread' | 'messageNumber' | 'correlationId' | 'traceparent' | 'responseId' | 'flags'
  >
  readonly person: Pick<NonNullable<AgentContext['person']>, 'id' | 'addresses'> | undefined
  readonly hasPersonState: boolean
  /** An `Int32` that becomes 1 when the outcome of a synchronous call has arrived; the thread waits for it. */
  readonly wakeFlag: SharedArrayBuffer
}

/** The methods of a context that run synchronously, while the agent waits. */
export const syncMethods = [
  'post',
  'note',
  'stage',
  'requireConsent',
  'requirePayment',
  'requireAuth',
  'refuse',
  'state.set',
  'person.state.set',
] as const
/** The methods of a context that return a promise. */
export const asyncMethods = [
  'attachment',
  'isPublic',
  'reply',
  'call',
  'edit',
  'delete',
  'react',
  'state.get',
  'person.state.get',
] as const
export type ContextMethod = (typeof syncMethods)[number] | (typeof asyncMethods)[number]

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export type ToWorker =
  | { readonly kind: 'turn'; readonly data: TurnSnapshot; readonly syncPort: MessagePort }
  | { readonly kind: 'abort'; readonly reason: SerializedError }
  | { readonly kind: 'next' }
  | { readonly kind: 'result'; readonly call: number; readonly outcome: CallOutcome }
  | { readonly kind: 'forget'; readonly forgotten: ForgottenPerson; readonly id: string }
  | { readonly kind: 'close' }

type MessagePort = import('node:worker_threads').MessagePort

export type FromWorker =
  | { readonly kind: 'loaded'; readonly exports: readonly string[]; readonly modules: readonly string[] }
  | { readonly kind: 'unloadable'; readonly error: SerializedError }
  | { readonly kind: 'chunk'; readonly value: unknown }
  | { readonly kind: 'end'; readonly isStream: boolean; readonly value?: unknown }
  | { readonly kind: 'fault'; readonly error: SerializedError }
  | { readonly kind: 'call'; readonly call: number; readonly method: ContextMethod; readonly args: readonly unknown[] }
  | {
      readonly kind: 'log'
      readonly level: LogLevel
      readonly fields: Readonly<Record<string, unknown>>
      readonly text: string
    }
  | { readonly kind: 'forgot' }
  | { readonly kind: 'closed' }

export type CallOutcome = { readonly value: unknown } | { readonly error: SerializedError }

/** An error in the form that is sent between threads. */
interface SerializedError {
  readonly name: string
  readonly message: string
  readonly stack?: string | undefined
  readonly code?: unknown
  readonly kind?: unknown
  readonly retryAfter?: number | undefined
}

export function serializeError(error: unknown): SerializedError {
  try {
    if (!(error instanceof Error)) return { name: typeof error, message: String(error) }
    const { name, message, stack } = error
    const { code, kind, retryAfter } = error as { code?: unknown; kind?: unknown; retryAfter?: unknown }
    return {
      name: String(name),
      message: String(message),
      stack: typeof stack === 'string' ? stack : undefined,
      ...(typeof code === 'string' && { code }),
      ...(typeof kind === 'string' && { kind }),
      ...(typeof retryAfter === 'number' && { retryAfter }),
    }
  } catch {
    return { name: 'Error', message: 'The agent threw an error that cannot be read' }
  }
}

/** Converts a sent error to an error of this thread. The gateway's own error classes are restored. */
export function deserializeError({ name, message, stack, code, kind, retryAfter }: SerializedError): Error {
  const errorConstructors: Readonly<Record<string, () => Error>> = {
    Unavailable: () => new Unavailable(message, { retryAfter }),
    Undeliverable: () => new Undeliverable(message),
    Rejection: () => new Rejection((typeof code === 'string' ? code : 'malformed') as 'malformed', message),
    TimeoutError: () => new DOMException(message, name),
  }
  const standardError = Object.hasOwn(errorConstructors, name) ? errorConstructors[name]?.() : undefined
  if (standardError) return standardError
  const error = Object.assign(new Error(message), { name, ...(kind !== undefined && { kind }) })
  if (stack !== undefined) error.stack = stack
  return error
}
