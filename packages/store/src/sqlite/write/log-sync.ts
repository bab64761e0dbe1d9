// Waits outside the event loop until commits are on disk.
import { closeSync, fdatasync, openSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import type { DurabilityPoint } from './transactions.ts'

interface LogSync extends DurabilityPoint {
  /** Closes the file. No callback may be waiting. */
  close(): void
}

/** The signature of `fs.fdatasync`. */
export type SyncFile = (file: number, callback: (error: Error | null) => void) => void

type OnSynced = Parameters<DurabilityPoint['whenReached']>[0]

/**
 * Opens the log of a database to wait for the disk outside the event loop. `synchronous=NORMAL` writes a commit to the log and does not sync it.
 * `fdatasync` of the log makes the commit durable (SQLite, "Write-Ahead Logging" §2.2 and §4). One sync covers all earlier commits. The log is a
 * separate file, so opening and closing it here releases none of SQLite's locks.
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
    whenReached(onSynced) {
      waitingCallbacks.push(onSynced)
      if (!isRunning) start()
    },
    close: () => closeSync(file),
  }
}

/** Makes commits return before they are on disk. After a failed sync, lost and stored commits cannot be distinguished, so `onFailure` stops all writes. */
export function syncBeside(
  db: DatabaseSync,
  { whenReached, close }: LogSync,
  onFailure: (error: unknown) => void,
): LogSync {
  db.exec('PRAGMA synchronous = NORMAL')
  return {
    whenReached: onSynced =>
      whenReached(error => {
        if (error) onFailure(error)
        onSynced(error)
      }),
    close,
  }
}
