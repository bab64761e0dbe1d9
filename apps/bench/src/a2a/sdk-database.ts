// Opens the on-disk task store of the official A2A SDK, on SQLite.
import { execFileSync } from 'node:child_process'
import { mkdtempDisposableSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SQLInputValue } from 'node:sqlite'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import type { TaskStore } from '@a2a-js/sdk/server'
import { DatabaseTaskStore } from '@a2a-js/sdk/server/database'
import type { SqliteDatabase } from 'kysely'
import { Kysely, SqliteDialect } from 'kysely'

interface OpenedTaskStore {
  readonly store: TaskStore
  close(): void
}

/** Opens the SDK's database store as durable as the stores of Postern and of the baseline servers: WAL and `synchronous = FULL`. */
export function openDatabaseTaskStore(): OpenedTaskStore {
  const { path, remove } = mkdtempDisposableSync(join(tmpdir(), 'postern-bench-'))
  const database = new DatabaseSync(join(path, 'tasks.db'))
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  database.exec(printSchema())
  const dialect = new SqliteDialect({ database: adaptDatabase(database) })
  return {
    store: new DatabaseTaskStore(new Kysely({ dialect })),
    close: () => {
      database.close()
      remove()
    },
  }
}

/** Prints the schema with the SDK's own command, `a2a-db`. */
function printSchema(): string {
  const command = fileURLToPath(new URL('./cli/a2a_db.js', import.meta.resolve('@a2a-js/sdk')))
  return execFileSync(process.execPath, [command, 'upgrade', '--sql', '--dialect', 'sqlite', '--store', 'tasks'], {
    encoding: 'utf8',
  })
}

/** Adapts `node:sqlite` to the interface of better-sqlite3, which Kysely expects. */
function adaptDatabase(database: DatabaseSync): SqliteDatabase {
  return {
    close: () => database.close(),
    prepare(sql) {
      const statement = database.prepare(sql)
      return {
        reader: statement.columns().length > 0,
        all: values => statement.all(...(values as SQLInputValue[])),
        run: values => statement.run(...(values as SQLInputValue[])),
        iterate: values => statement.iterate(...(values as SQLInputValue[])),
      }
    },
  }
}
