import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { ConfigError } from '@postern/core'
import { primaryCodeOf } from '../engine/sqlite-errors.ts'

/** Larger files are not read from end to end at the start: it would take seconds for each gigabyte. */
const mostCheckedBytes = 512 * 1024 * 1024

/** Reads the whole file. @throws ConfigError `data` when it is damaged */
function refuseDamagedFile(db: DatabaseSync, path: string): void {
  const [found] = db.prepare('PRAGMA quick_check(1)').all()
  // The first line names the database only.
  const told = String(Object.values(found ?? { none: 'no answer' })[0])
    .split('\n')
    .at(-1)
  if (told !== 'ok') throw toOpenError(Object.assign(new Error(told), { errcode: 11 }), path)
}

/** At the start. */
export function refuseDamagedAtStart(db: DatabaseSync, path: string): void {
  if (path !== ':memory:' && statSync(path).size <= mostCheckedBytes) refuseDamagedFile(db, path)
}

type Explanation = readonly [problem: string, fix: string]

const rescue = 'Put it back from a backup, or save what can be read: sqlite3 postern.db .recover | sqlite3 saved.db'
const damaged: Explanation = ['is damaged', rescue]
const full: Explanation = ['cannot be opened: the disk is full', 'Make room on it, then start again.']
const unreadable: Explanation = ['cannot be read or written', 'Look after the disk, and at who owns the file.']
/** By SQLite's primary result codes. */
const explanations: Readonly<Record<number, Explanation>> = {
  5: ['is held by another program', 'End that program ("fuser" names it), then start again.'],
  8: ['cannot be written', 'Give it to the user of the gateway, on a disk that takes writes.'],
  10: unreadable,
  11: damaged,
  13: full,
  14: unreadable,
  26: ['is no database', 'It must be a file of ours, or not exist yet, in a directory that can be written.'],
}

/** Why a file cannot be worked with, as an operator is told. */
export function toOpenError(error: unknown, path: string): ConfigError {
  if (error instanceof ConfigError) return error
  const [problem, fix] = explanations[primaryCodeOf(error) ?? 26] ?? [
    'cannot be opened as a database',
    'It must be a file of ours, or not exist yet, in a directory that can be written.',
  ]
  const reason = error instanceof Error ? ` (${error.message})` : ''
  return new ConfigError('data', `"${path}" ${problem}${reason}`, fix, { cause: error })
}

/**
 * Reads a database from end to end beside whoever works with it; nothing when there is none.
 * @throws ConfigError `data` when it is damaged, or cannot be read
 */
export function inspectSqlite(path: string): void {
  if (!existsSync(path)) return
  try {
    const db = new DatabaseSync(path, { readOnly: true })
    try {
      refuseDamagedFile(db, path)
    } finally {
      db.close()
    }
  } catch (error) {
    throw toOpenError(error, path)
  }
}
