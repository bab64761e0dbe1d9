import { mkdtempDisposableSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** The least a durable server does: one row per message, on disk when `append` resolves. */
interface DurableLog {
  append(id: string, body: Uint8Array): Promise<void>
  close(): void
}

/** SQLite as the floors use it: WAL, `synchronous = FULL`, one commit for all rows that arrive together. */
export function openDurableLog(): DurableLog {
  const { path, remove } = mkdtempDisposableSync(join(tmpdir(), 'postern-bench-'))
  const database = new DatabaseSync(join(path, 'floor.db'))
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  database.exec('CREATE TABLE message (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body BLOB NOT NULL)')
  const insert = database.prepare('INSERT INTO message (id, body) VALUES (?, ?)')
  const append = createGroup(rows => {
    database.exec('BEGIN IMMEDIATE')
    for (const { id, body } of rows) insert.run(id, body)
    database.exec('COMMIT')
  })
  return {
    append,
    close: () => {
      database.close()
      remove()
    },
  }
}

interface Row {
  readonly id: string
  readonly body: Uint8Array
}

function createGroup(commit: (rows: readonly Row[]) => void): DurableLog['append'] {
  let waiting: { row: Row; resolve(): void }[] = []
  const flush = () => {
    const group = waiting
    waiting = []
    commit(group.map(({ row }) => row))
    for (const { resolve } of group) resolve()
  }
  return (id, body) =>
    new Promise(resolve => {
      if (waiting.length === 0) setImmediate(flush)
      waiting.push({ row: { id, body }, resolve })
    })
}
