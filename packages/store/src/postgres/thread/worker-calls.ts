import type { Worker } from 'node:worker_threads'
import type { ByteStore } from '@postern/core'
import { noAnswer } from '../connection/store-errors.ts'
import { limitWait } from './limit-wait.ts'
import { sendError } from './worker-errors.ts'
import type { FromConnectionWorker, Outcome, ToConnectionWorker } from './worker-messages.ts'
import { byteStoreMethods, captureOutcome, createPendingCalls } from './worker-messages.ts'

/** Calls of the store's methods, which run in its thread. */
export interface WorkerCalls {
  /** `port`: `store` itself, or the member of it that has the method. */
  call(port: string, name: string, args: readonly unknown[]): Promise<unknown>
  settle(id: number, outcome: Outcome): void
  /** Runs a function that came with the arguments of a call. */
  runCallBack(asked: Extract<FromConnectionWorker, { kind: 'callBack' }>): Promise<void>
  /** Refuses new calls from now on; those that wait still get their answers. */
  end(): void
  /** Refuses new calls from now on, and those that wait. */
  fail(reason: Error): void
  hasEnded(): boolean
}

interface CallOptions {
  readonly now: () => number
  readonly bytes: ByteStore | undefined
}

export function createWorkerCalls(worker: Worker, { now, bytes }: CallOptions): WorkerCalls {
  const pending = createPendingCalls()
  const functions = new Map<number, readonly unknown[]>([[0, byteStoreMethods.map(name => bytes?.[name].bind(bytes))]])
  let whyNot: Error | undefined
  const post = (message: ToConnectionWorker) => worker.postMessage(message)
  return {
    call(port, name, args) {
      if (whyNot) return Promise.reject(whyNot)
      const { id, promise } = pending.add()
      const marked = args.map((arg, at) => (typeof arg === 'function' ? { functionAt: at } : leaveOutRaw(arg)))
      if (args.some(arg => typeof arg === 'function')) functions.set(id, args)
      // A process that wants nothing more of the store may end without it: one that cannot start, a command.
      worker.ref()
      try {
        post({ kind: 'call', id, port, name, args: marked, now: now() })
      } catch (error) {
        pending.settle(id, { error: sendError(error) })
      }
      const answered = promise.finally(() => {
        functions.delete(id)
        if (pending.isEmpty()) worker.unref()
      })
      return isImpatient(name) ? limitWait(answered, patienceMs, noAnswer) : answered
    },
    settle: pending.settle,
    async runCallBack({ id, call, at, args }) {
      const wanted = functions.get(call)?.[at] as ((...args: readonly unknown[]) => unknown) | undefined
      const outcome: Outcome = await captureOutcome(() => wanted?.(...args))
      post({ kind: 'returned', id, outcome })
    },
    end() {
      whyNot ??= new Error('the store is closed')
    },
    fail(reason) {
      whyNot = reason
      pending.rejectAll(reason)
    },
    hasEnded: () => whyNot !== undefined,
  }
}

/** Peers wait at an endpoint, and what they bring may be sent again, so none waits longer for a server that is silent. */
const patienceMs = 10_000

/** What an endpoint asks. Whoever works needs to know what became of it, however long that takes. */
function isImpatient(name: string): boolean {
  return /^(admit|consumeOnce|count|find|has|is|list)/.test(name)
}

/** Work that comes back need not bring along what arrived: the store has it. */
function leaveOutRaw(arg: unknown): unknown {
  const { content, message } = (arg ?? {}) as {
    readonly content?: { raw?: unknown }
    readonly message?: { raw?: unknown }
  }
  if (content?.raw !== undefined) return { ...(arg as object), content: { ...content, raw: undefined } }
  if (message?.raw !== undefined) return { ...(arg as object), message: { ...message, raw: undefined } }
  return arg
}
