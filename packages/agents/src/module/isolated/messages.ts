// Declares the messages that an isolated agent's thread and the gateway exchange.
import type { NormalizedMessage } from '@postern/message'
import { Rejection, Unavailable, Undeliverable } from '@postern/message'
import type { AgentContext, ForgottenPerson, HistoryView } from '@postern/pipeline'

/** The module that a thread runs. */
export interface ThreadOptions {
  readonly url: string
}

/** The part of a turn's context that is data. */
export interface TurnData {
  readonly message: NormalizedMessage
  readonly view: HistoryView
  readonly facts: Pick<
    AgentContext,
    'thread' | 'messageNumber' | 'correlationId' | 'traceparent' | 'responseId' | 'flags'
  >
  readonly person: Pick<NonNullable<AgentContext['person']>, 'id' | 'addresses'> | undefined
  readonly hasPersonState: boolean
  /** Wakes the thread when the answer to a call that it waits for has arrived. */
  readonly wake: SharedArrayBuffer
}

/** The methods of a context that run synchronously, while the agent waits. */
export const directMethods = [
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
export const promisedMethods = [
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
export type ContextMethod = (typeof directMethods)[number] | (typeof promisedMethods)[number]

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export type ToThread =
  | { readonly kind: 'turn'; readonly data: TurnData; readonly direct: MessagePort }
  | { readonly kind: 'abort'; readonly reason: SentError }
  | { readonly kind: 'next' }
  | { readonly kind: 'result'; readonly call: number; readonly outcome: SentOutcome }
  | { readonly kind: 'forget'; readonly forgotten: ForgottenPerson; readonly id: string }
  | { readonly kind: 'close' }

type MessagePort = import('node:worker_threads').MessagePort

export type FromThread =
  | { readonly kind: 'loaded'; readonly exports: readonly string[]; readonly modules: readonly string[] }
  | { readonly kind: 'unloadable'; readonly error: SentError }
  | { readonly kind: 'chunk'; readonly value: unknown }
  | { readonly kind: 'end'; readonly isStream: boolean; readonly value?: unknown }
  | { readonly kind: 'fault'; readonly error: SentError }
  | { readonly kind: 'call'; readonly call: number; readonly method: ContextMethod; readonly args: readonly unknown[] }
  | {
      readonly kind: 'log'
      readonly level: LogLevel
      readonly fields: Readonly<Record<string, unknown>>
      readonly text: string
    }
  | { readonly kind: 'forgot' }
  | { readonly kind: 'closed' }

export type SentOutcome = { readonly value: unknown } | { readonly error: SentError }

/** An error in the form that is sent between threads. */
interface SentError {
  readonly name: string
  readonly message: string
  readonly stack?: string | undefined
  readonly code?: unknown
  readonly kind?: unknown
  readonly retryAfter?: number | undefined
}

export function toSentError(thrown: unknown): SentError {
  try {
    if (!(thrown instanceof Error)) return { name: typeof thrown, message: String(thrown) }
    const { name, message, stack } = thrown
    const { code, kind, retryAfter } = thrown as { code?: unknown; kind?: unknown; retryAfter?: unknown }
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
export function toThrown({ name, message, stack, code, kind, retryAfter }: SentError): Error {
  const make: Readonly<Record<string, () => Error>> = {
    Unavailable: () => new Unavailable(message, { retryAfter }),
    Undeliverable: () => new Undeliverable(message),
    Rejection: () => new Rejection((typeof code === 'string' ? code : 'malformed') as 'malformed', message),
    TimeoutError: () => new DOMException(message, name),
  }
  const knownError = Object.hasOwn(make, name) ? make[name]?.() : undefined
  if (knownError) return knownError
  const error = Object.assign(new Error(message), { name, ...(kind !== undefined && { kind }) })
  if (stack !== undefined) error.stack = stack
  return error
}
