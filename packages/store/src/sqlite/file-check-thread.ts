// Checks the pages of a database file in a thread of its own.
import { parentPort, workerData } from 'node:worker_threads'
import { ConfigError } from '@postern/message'
import { inspectSqlite } from './inspect-file.ts'

// Reads the whole file beside the gateway, with pages of its own. Says what is wrong with it, or nothing.

function inspect(path: string): string | undefined {
  try {
    inspectSqlite(path)
    return undefined
  } catch (error) {
    if (error instanceof ConfigError && error.message.includes('is damaged')) return error.message
    // The file is locked or missing. Others notice that.
    return undefined
  }
}

parentPort?.postMessage(inspect(workerData as string))
