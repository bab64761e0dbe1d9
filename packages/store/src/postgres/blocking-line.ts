import type { MessagePort } from 'node:worker_threads'
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads'
import type { SqlValue } from '../database.ts'
import { toStatementError } from './failures.ts'
import type { PostgresFailure } from './line-failure.ts'
import { loseLine } from './line-failure.ts'
import type { StepResult } from './pipelined-run.ts'
import type { ServerAddress } from './server-address.ts'
import type { PostgresSettings } from './settings.ts'

/** Statements by their numbers; the text comes along the first time. */
export interface Asked {
  readonly steps: readonly {
    readonly id: number
    readonly text?: string | undefined
    readonly values: readonly SqlValue[]
  }[]
  /** They begin a transaction; others belong to the one before. */
  readonly isBeginning: boolean
  /** Somebody waits for the answer. */
  readonly isAwaited: boolean
}

export type Answered = { readonly results: readonly StepResult[] } | { readonly failure: PostgresFailure }

export interface LineThreadData {
  readonly server: ServerAddress
  readonly schema: string
  /** The name in our leases, where we lease. */
  readonly holder: string | undefined
  readonly port: MessagePort
  /** Raised by one with every answer. */
  readonly answers: Int32Array
}

/** What the thread of the connection tells without being asked. */
export type LineEvent =
  | { readonly heard: string }
  | { readonly lost: string }
  | { readonly open: true }
  | { readonly listening: true }
  /** Somebody who has leased, and is gone. */
  | { readonly fallen: string }

export interface BlockingLine {
  /** Waits for the answer, and nothing else runs in this thread meanwhile. @throws Unavailable, Rejection, StatementFailed */
  ask(asked: Omit<Asked, 'isAwaited'>): readonly StepResult[]
  /** Waits for nothing; what fails shows with the next. */
  tell(asked: Omit<Asked, 'isAwaited'>): void
  /** Hints for all who listen at the same database. */
  announce(payloads: readonly string[]): void
  close(): Promise<void>
}

/** Longer than the thread itself waits for a server: it always answers, unless it is gone. */
const longestWaitMs = 90_000

/** The connection lives in a thread of its own, so that this one can wait for it as for a disk. */
export function openBlockingLine(
  { server, schema, holder }: Pick<PostgresSettings, 'server' | 'schema'> & Pick<LineThreadData, 'holder'>,
  onEvent: (event: LineEvent) => void,
): BlockingLine {
  const { port1, port2 } = new MessageChannel()
  const answers = new Int32Array(new SharedArrayBuffer(4))
  const data: LineThreadData = { server, schema, holder, port: port2, answers }
  const worker = new Worker(new URL('./line-thread.ts', import.meta.url), { workerData: data, transferList: [port2] })
  const closed = new Promise<void>(resolve => worker.once('exit', () => resolve()))
  worker.on('message', onEvent)
  worker.on('error', error => onEvent({ lost: String(error) }))
  port1.unref()
  let answered = 0
  let isBroken = false

  function receive(): Answered {
    answered += 1
    // What comes later would be taken for the answer to the next question: none is asked any more.
    isBroken = Atomics.wait(answers, 0, answered - 1, longestWaitMs) === 'timed-out'
    if (isBroken) throw toStatementError(loseLine('the connection hangs'))
    return (receiveMessageOnPort(port1) as { readonly message: Answered }).message
  }

  return {
    ask(asked) {
      if (isBroken) throw toStatementError(loseLine('the connection hangs'))
      port1.postMessage({ ...asked, isAwaited: true } satisfies Asked)
      const answer = receive()
      if ('failure' in answer) throw toStatementError(answer.failure)
      return answer.results
    },
    tell: asked => port1.postMessage({ ...asked, isAwaited: false } satisfies Asked),
    announce: payloads => worker.postMessage(payloads),
    async close() {
      worker.postMessage('close')
      await closed
      port1.close()
    },
  }
}
