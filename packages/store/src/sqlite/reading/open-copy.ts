// Opens a copy of a database and its log, and deletes the copy however the process ends.
import { constants, copyFileSync, mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ConfigError } from '@postern/message'

/** A copy in the temporary folder. */
interface DatabaseCopy {
  readonly db: DatabaseSync
  close(): void
}

/** Endings of the files to copy: the database, and the log with the newest data. */
const suffixes = ['', '-wal']

/** Copies a database with its log and opens the copy. @throws ConfigError `data` if there is no room for it, Error of SQLite or of the system */
export function openCopy(path: string): DatabaseCopy {
  requireFreeSpace(path)
  const releaseSignals = holdSignals()
  const folder = mkdtempSync(join(tmpdir(), 'postern-read-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const db = copyInto(folder, path)
    removeNow(remove)
    const close = () => {
      db.close()
      remove()
    }
    return { db, close }
  } catch (error) {
    remove()
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC' ? createNoSpaceError(path) : error
  } finally {
    releaseSignals()
  }
}

function copyInto(folder: string, path: string): DatabaseSync {
  const copy = join(folder, basename(path))
  for (const ending of suffixes) copyFileSync(path + ending, copy + ending, constants.COPYFILE_FICLONE)
  const db = new DatabaseSync(copy)
  try {
    // The first reading opens all files that later ones need.
    db.exec('PRAGMA query_only = ON; PRAGMA temp_store = MEMORY; SELECT 1 FROM sqlite_schema')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * Deletes the copy at once if the system allows that for open files, which then stay readable. Otherwise the copy is deleted when it is closed, or
 * when the process exits.
 */
function removeNow(remove: () => void): void {
  try {
    remove()
  } catch {
    process.once('exit', remove)
  }
}

function requireFreeSpace(path: string): void {
  const { bavail, bsize } = statfsSync(tmpdir())
  const bytes = suffixes.reduce(
    (sum, ending) => sum + (statSync(path + ending, { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
  if (bytes > bavail * bsize) throw createNoSpaceError(path)
}

function createNoSpaceError(path: string): ConfigError {
  const problem = `"${path}" has a log that no gateway completed, and the temporary folder has no room for a copy to read`
  return new ConfigError('data', problem, 'Start the gateway once, so that it completes its log.')
}

/** Delays signals while the copy has a name, so that they end the process only after its deletion. Returns the function that ends the delay. */
function holdSignals(): () => void {
  const handlers = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map(signal => {
    const onSignal = () => {
      process.off(signal, onSignal)
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
    }
    process.on(signal, onSignal)
    return () => process.off(signal, onSignal)
  })
  // A held signal arrives within two turns of the event loop, because the first one may already have polled for signals.
  return () => {
    setImmediate(() =>
      setImmediate(() => {
        for (const release of handlers) release()
      }),
    )
  }
}
