import type { Log, LogFields } from '@postern/core'
import type { StoredChannel } from '../../channels/facts.ts'
import type { Notice } from '../../engine/database.ts'
import type { SentError } from './worker-errors.ts'
import { receiveError, sendError } from './worker-errors.ts'

/** What came of a call. */
export type Outcome = { readonly value: unknown } | { readonly error: SentError }

/** In place of a function among the arguments: whoever calls it asks the thread that has it. */
interface FunctionMark {
  readonly functionAt: number
}

/** From the gateway's thread to the store's. */
export type ToConnectionWorker =
  | {
      readonly kind: 'call'
      readonly id: number
      /** `store` itself, or the member of it that has the method. */
      readonly port: string
      readonly name: string
      readonly args: readonly unknown[]
      readonly now: number
    }
  | { readonly kind: 'returned'; readonly id: number; readonly outcome: Outcome }
  | { readonly kind: 'hint'; readonly notice: Notice }

/** From the store's thread to the gateway's. */
export type FromConnectionWorker =
  | { readonly kind: 'ready'; readonly deps: Readonly<Record<string, readonly string[]>> }
  | { readonly kind: 'answer'; readonly id: number; readonly outcome: Outcome }
  | {
      readonly kind: 'callBack'
      readonly id: number
      readonly call: number
      readonly at: number
      readonly args: readonly unknown[]
    }
  | { readonly kind: 'notice'; readonly notice: Notice }
  | { readonly kind: 'outdated' }
  | { readonly kind: 'log'; readonly level: keyof Log; readonly fields: LogFields; readonly text: string }

export interface ConnectionWorkerData {
  readonly url: string
  readonly now: number
  readonly channels: readonly StoredChannel[]
  /** Bytes of objects are kept elsewhere, and asked for as functions of call 0. */
  readonly hasBytes: boolean
  readonly holder: string | undefined
}

export const byteStoreMethods = ['write', 'read', 'remove'] as const

export function isFunctionMark(value: unknown): value is FunctionMark {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'functionAt')
}

export async function captureOutcome(work: () => unknown): Promise<Outcome> {
  try {
    return { value: await work() }
  } catch (error) {
    return { error: sendError(error) }
  }
}

/** Those who wait for an answer, by number. */
interface PendingCalls {
  add(): { readonly id: number; readonly promise: Promise<unknown> }
  settle(id: number, outcome: Outcome): void
  rejectAll(error: unknown): void
  isEmpty(): boolean
}

export function createPendingCalls(): PendingCalls {
  const open = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>()
  let last = 0
  return {
    add() {
      last += 1
      const id = last
      return { id, promise: new Promise((resolve, reject) => open.set(id, { resolve, reject })) }
    },
    settle(id, outcome) {
      const waiter = open.get(id)
      open.delete(id)
      if ('error' in outcome) waiter?.reject(receiveError(outcome.error))
      else waiter?.resolve(outcome.value)
    },
    rejectAll(error) {
      for (const { reject } of open.values()) reject(error)
      open.clear()
    },
    isEmpty: () => open.size === 0,
  }
}
