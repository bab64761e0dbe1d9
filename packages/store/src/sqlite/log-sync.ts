import { closeSync, fdatasync, openSync } from 'node:fs'
import type { DurabilityPoint } from '../engine/transactions.ts'

export interface LogSync extends DurabilityPoint {
  /** Once nothing is waited for. */
  close(): void
}

/** As `fs.fdatasync`. */
export type SyncFile = (file: number, done: (error: Error | null) => void) => void

type Reached = Parameters<DurabilityPoint['reach']>[0]

/**
 * Waits for the disk beside the event loop: `synchronous=NORMAL` writes a commit to the log and leaves it to the kernel, `fdatasync` of the log makes it
 * last (SQLite, "Write-Ahead Logging" §2.2 and §4). One wait at a time; it covers all that was committed before it began. The log is a file of its own,
 * so that to open and close it here lets go of none of SQLite's locks.
 */
export function openLogSync(path: string, syncFile: SyncFile = fdatasync): LogSync {
  const file = openSync(`${path}-wal`, 'r+')
  let isRunning = false
  let waiting: Reached[] = []

  function start(): void {
    const covered = waiting
    waiting = []
    isRunning = true
    syncFile(file, error => {
      isRunning = false
      if (waiting.length > 0) start()
      for (const tell of covered) tell(error ?? undefined)
    })
  }

  return {
    reach(tell) {
      waiting.push(tell)
      if (!isRunning) start()
    },
    close: () => closeSync(file),
  }
}
