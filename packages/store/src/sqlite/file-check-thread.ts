import { parentPort, workerData } from 'node:worker_threads'
import { ConfigError } from '@postern/core'
import { inspectSqlite } from './inspect-file.ts'

// Reads the whole file beside the gateway, with pages of its own. Says what is wrong with it, or nothing.

function inspect(path: string): string | undefined {
  try {
    inspectSqlite(path)
    return undefined
  } catch (error) {
    if (error instanceof ConfigError && error.message.includes('is damaged')) return error.message
    // Somebody holds it, or it is gone: others notice that.
    return undefined
  }
}

parentPort?.postMessage(inspect(workerData as string))
