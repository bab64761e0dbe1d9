/**
 * Counts the use of SQLite and V8 by a gateway's main thread, when loaded before it (`node --import`). It counts in SQLite and V8
 * themselves, so that no file of the store needs to know. The process that started the gateway requests the counts.
 */
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { promiseHooks } from 'node:v8'
import { isMainThread } from 'node:worker_threads'
import { readTurnCount } from '../agents/counted/turns.ts'

/** The counts since the gateway started. */
export interface Counts {
  /** The number of runs of statements on rows. */
  readonly statements: number
  readonly commits: number
  /** The number of promises that V8 made, those of `await` included. */
  readonly promises: number
}

/** The answer of the process to a request for its counts. */
export interface CountsAnswer extends Counts {
  /** The number of turns that agents have begun. */
  readonly turns: number
}

type Run = (this: { readonly sourceSQL?: string }, ...values: never[]) => unknown

const counts = { statements: 0, commits: 0, promises: 0 }
const onRows = /^\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH)\b/i
const ends = /^\s*(COMMIT|END)\b/i
const databases = new Set<DatabaseSync>()

function countStatement(sql: string): void {
  if (onRows.test(sql)) counts.statements += 1
  else if (ends.test(sql)) counts.commits += 1
}

function watchStatements(): void {
  const texts = new WeakMap<object, string>()
  const { prepare, exec } = DatabaseSync.prototype
  DatabaseSync.prototype.prepare = function (sql, ...otherArguments) {
    databases.add(this)
    const statement = prepare.call(this, sql, ...otherArguments)
    texts.set(statement, sql)
    return statement
  }
  DatabaseSync.prototype.exec = function (sql) {
    countStatement(sql)
    exec.call(this, sql)
  }
  for (const name of ['run', 'get', 'all', 'iterate'] as const) {
    const originalRun = StatementSync.prototype[name] as Run
    const counted: Run = function (...values) {
      countStatement(texts.get(this) ?? '')
      return originalRun.call(this, ...values)
    }
    Object.assign(StatementSync.prototype, { [name]: counted })
  }
}

/** Checkpoints the databases into their files, so that the log of SQLite then grows only by new writes. */
function emptyLogs(): void {
  for (const database of databases) {
    if (database.isOpen) database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  }
}

function answer(request: unknown): void {
  if (request === 'empty') emptyLogs()
  const countsAnswer: CountsAnswer = { ...counts, turns: readTurnCount() }
  process.send?.(countsAnswer)
}

if (isMainThread) {
  watchStatements()
  promiseHooks.onInit(() => {
    counts.promises += 1
  })
  process.on('message', answer)
  // The channel must not keep a stopped gateway alive.
  process.channel?.unref()
}
