import { close, fdatasync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import type { DurabilityPoint } from '../engine/transactions.ts'

const closeFile = promisify(close)

export interface LogSync extends DurabilityPoint {
  close(): Promise<void>
}

/**
 * Waits for the disk beside the event loop: `synchronous=NORMAL` writes a commit to the log and leaves it to the kernel, `fdatasync` of the log makes it
 * last (SQLite, "Write-Ahead Logging" §2.2 and §4). One wait at a time; it covers all that was committed before it began. The log is a file of its own,
 * so that to open and close it here lets go of none of SQLite's locks.
 */
export function openLogSync(path: string, syncFile = promisify(fdatasync)): LogSync {
  const file = openSync(`${path}-wal`, 'r+')
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined

  async function follow(earlier: Promise<void>): Promise<void> {
    await earlier.catch(() => undefined)
    return start()
  }

  function start(): Promise<void> {
    next = undefined
    running = syncFile(file).finally(() => {
      running = undefined
    })
    return running
  }

  return {
    reach() {
      if (!running) return start()
      next ??= follow(running)
      return next
    },
    async close() {
      await next?.catch(() => undefined)
      await running?.catch(() => undefined)
      await closeFile(file)
    },
  }
}
