// Runs as a worker thread that checks the pages of a database file.
import { parentPort, workerData } from 'node:worker_threads'
import { ConfigError } from '@postern/message'
import { inspectSqlite } from './inspect-file.ts'

// The thread reads the whole file while the gateway runs, with its own page cache. It posts a description of the damage, or undefined if there is none.

function inspect(path: string): string | undefined {
  try {
    inspectSqlite(path)
    return undefined
  } catch (error) {
    if (error instanceof ConfigError && error.message.includes('is damaged')) return error.message
    // The file is locked or missing. The watch of the open file detects this.
    return undefined
  }
}

parentPort?.postMessage(inspect(workerData as string))
