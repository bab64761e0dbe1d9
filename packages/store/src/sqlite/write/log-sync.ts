// Waits for the disk beside the event loop.
import { closeSync, fdatasync, openSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import type { DurabilityPoint } from './transactions.ts'

interface LogSync extends DurabilityPoint {
  /** Closes the file. No request may wait then. */
  close(): void
}

/** The signature of `fs.fdatasync`. */
export type SyncFile = (file: number, callback: (error: Error | null) => void) => void

type OnSynced = Parameters<DurabilityPoint['reach']>[0]

/**
 * Opens the log of a database to wait for the disk beside the event loop. `synchronous=NORMAL` writes a commit to the log and leaves it to the kernel;
 * `fdatasync` of the log makes it last (SQLite, "Write-Ahead Logging" §2.2 and §4). One wait at a time covers all earlier commits. The log is a file
 * of its own, so opening and closing it here releases none of SQLite's locks.
 */
export function openLogSync(path: string, syncFile: SyncFile = fdatasync): LogSync {
  const file = openSync(`${path}-wal`, 'r+')
  let isRunning = false
  let waitingCallbacks: OnSynced[] = []

  function start(): void {
    const coveredCallbacks = waitingCallbacks
    waitingCallbacks = []
    isRunning = true
    syncFile(file, error => {
      isRunning = false
      if (waitingCallbacks.length > 0) start()
      for (const onSynced of coveredCallbacks) onSynced(error ?? undefined)
    })
  }

  return {
    reach(onSynced) {
      waitingCallbacks.push(onSynced)
      if (!isRunning) start()
    },
    close: () => closeSync(file),
  }
}

/** Makes commits return before the disk has them. After a failed sync nobody can tell lost commits from stored ones, so `onFailure` stops all writes. */
export function syncBeside(db: DatabaseSync, { reach, close }: LogSync, onFailure: (error: unknown) => void): LogSync {
  db.exec('PRAGMA synchronous = NORMAL')
  return {
    reach: onSynced =>
      reach(error => {
        if (error) onFailure(error)
        onSynced(error)
      }),
    close,
  }
}
