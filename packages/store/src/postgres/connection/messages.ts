import type { MessagePort } from 'node:worker_threads'
import type { SqlValue } from '../../engine/database.ts'
import type { ServerAddress } from '../server/address.ts'
import type { PostgresFailure } from './failure.ts'
import type { StepResult } from './pipelined-run.ts'

/** Statements by their numbers. */
export interface StatementRequest {
  readonly steps: readonly {
    readonly id: number
    readonly text?: string | undefined
    readonly values: readonly SqlValue[]
  }[]
  /** They begin a transaction; others belong to the one before. */
  readonly isBeginning: boolean
}

/** As it goes to the thread of the connection; the text of a statement comes along the first time. */
export interface Question extends StatementRequest {
  readonly id: number
  /** Somebody waits for the answer. */
  readonly isAwaited: boolean
}

/** `id`: of the question. */
export type StatementAnswer = { readonly id: number } & (
  | { readonly results: readonly StepResult[] }
  | { readonly failure: PostgresFailure }
)

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
  | { readonly expired: string }
