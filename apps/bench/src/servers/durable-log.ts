// Appends rows to SQLite with one commit per batch: the least that a durable server does.
import { mkdtempDisposableSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Hono } from 'hono'
import { serveMeasured } from './child.ts'
import { listenFetch } from './hono.ts'

/** The minimum of a durable server: one row per message, which is on disk when `append` resolves. */
interface DurableLog {
  append(id: string, body: Uint8Array): Promise<void>
  /** Appends the row of an answer, for a server whose answers must be on disk, too. */
  appendAnswer(id: string, body: Uint8Array): Promise<void>
  /** Returns the number of messages on disk. */
  count(): number
  close(): void
}

/** Runs this process as a measured server. A message counts as handled once its row is on disk. */
export function serveDurable<Setup>(open: (log: DurableLog, setup: Setup) => Hono): Promise<void> {
  return serveMeasured<Setup>(async setup => {
    const log = openDurableLog()
    return { port: await listenFetch(open(log, setup).fetch), handled: log.count, close: log.close }
  })
}

/** Opens SQLite as the reference servers use it: WAL, `synchronous = FULL`, one commit for all rows that arrive together. */
function openDurableLog(): DurableLog {
  let count = 0
  const { path, remove } = mkdtempDisposableSync(join(tmpdir(), 'postern-bench-'))
  const database = new DatabaseSync(join(path, 'floor.db'))
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  database.exec('CREATE TABLE message (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body BLOB NOT NULL)')
  const insert = database.prepare('INSERT INTO message (id, body) VALUES (?, ?)')
  const appendRow = createGroup(rows => {
    database.exec('BEGIN IMMEDIATE')
    for (const { id, body } of rows) insert.run(id, body)
    database.exec('COMMIT')
    count += rows.filter(({ isMessage }) => isMessage).length
  })
  return {
    append: (id, body) => appendRow({ id, body, isMessage: true }),
    appendAnswer: (id, body) => appendRow({ id, body, isMessage: false }),
    count: () => count,
    close: () => {
      database.close()
      remove()
    },
  }
}

interface Row {
  readonly id: string
  readonly body: Uint8Array
  readonly isMessage: boolean
}

function createGroup(commit: (rows: readonly Row[]) => void): (row: Row) => Promise<void> {
  let waiting: { row: Row; resolve(): void }[] = []
  const flush = () => {
    const group = waiting
    waiting = []
    commit(group.map(({ row }) => row))
    for (const { resolve } of group) resolve()
  }
  return row =>
    new Promise(resolve => {
      if (waiting.length === 0) setImmediate(flush)
      waiting.push({ row, resolve })
    })
}
