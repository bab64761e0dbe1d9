// Opens a temporary copy of a database and its log, and deletes the copy at once, at its closing or at the exit of the process.
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

/** The suffixes of the files to copy, which are the database and the log with the newest data. */
const suffixes = ['', '-wal']

/** Copies a database with its log and opens the copy. @throws ConfigError `data` if there is no space for it, Error of SQLite or of the system */
export function openCopy(path: string): DatabaseCopy {
  requireFreeSpace(path)
  const releaseSignals = delaySignals()
  const folder = mkdtempSync(join(tmpdir(), 'postern-read-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const db = copyInto(folder, path)
    removeEarly(remove)
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
  for (const suffix of suffixes) copyFileSync(path + suffix, copy + suffix, constants.COPYFILE_FICLONE)
  const db = new DatabaseSync(copy)
  try {
    // The first query opens all files that later queries need.
    db.exec('PRAGMA query_only = ON; PRAGMA temp_store = MEMORY; SELECT 1 FROM sqlite_schema')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * Deletes the files of the copy at once if the system allows this for open files, which then stay readable. Otherwise the files are deleted when the
 * copy is closed or when the process exits.
 */
function removeEarly(remove: () => void): void {
  try {
    remove()
  } catch {
    process.once('exit', remove)
  }
}

function requireFreeSpace(path: string): void {
  const { bavail, bsize } = statfsSync(tmpdir())
  const bytes = suffixes.reduce(
    (sum, suffix) => sum + (statSync(path + suffix, { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
  if (bytes > bavail * bsize) throw createNoSpaceError(path)
}

function createNoSpaceError(path: string): ConfigError {
  const problem = `"${path}" has a log that no gateway completed, and the temporary folder has no room for a copy to read`
  return new ConfigError('data', problem, 'Start the gateway once, so that it completes its log.')
}

/** Delays signals until the copy is unlinked, so that they end the process only afterwards. Returns the function that ends the delay. */
function delaySignals(): () => void {
  const removals = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map(signal => {
    const handleSignal = () => {
      process.off(signal, handleSignal)
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
    }
    process.on(signal, handleSignal)
    return () => process.off(signal, handleSignal)
  })
  // A delayed signal arrives within two turns of the event loop, because the first turn may already have polled for signals.
  return () => {
    setImmediate(() =>
      setImmediate(() => {
        for (const release of removals) release()
      }),
    )
  }
}
