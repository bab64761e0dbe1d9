// Checks the pages of a database file regularly in a worker thread.
import { Worker } from 'node:worker_threads'

/** The ratio of the pause after a check to the duration of the check. It limits checks of a file of any size to half a percent of a core. */
const pauseFactor = 200

interface FileCheckOptions {
  readonly path: string
  /** The minimum time between two checks, ms. */
  readonly everyMs: number
  /** Runs if the file is damaged. */
  onDamage(problem: Error): void
}

/**
 * Checks the whole file regularly, in a worker thread. Otherwise a page that was damaged while the gateway runs would be detected only when it is read
 * again, and not while a correct copy of it is in memory.
 * @returns the function that ends the checks
 */
export function watchPages({ path, everyMs, onDamage }: FileCheckOptions): () => Promise<void> {
  let worker: Worker | undefined
  let timer = setTimeout(check, everyMs)
  timer.unref()

  function check(): void {
    const startedAt = performance.now()
    // Without this option Node would warn about node:sqlite at every check.
    const execArgv = ['--disable-warning=ExperimentalWarning']
    worker = new Worker(new URL('./file-check-thread.ts', import.meta.url), { workerData: path, execArgv })
    worker.unref()
    worker.on('message', (problem: string | undefined) => {
      if (problem !== undefined) onDamage(new Error(problem))
    })
    // If a thread cannot start, this check finds nothing, and the next thread may start.
    worker.on('error', () => undefined)
    worker.once('exit', () => {
      timer = setTimeout(check, Math.max(everyMs, pauseFactor * (performance.now() - startedAt)))
      timer.unref()
    })
  }

  return async () => {
    clearTimeout(timer)
    worker?.removeAllListeners('exit')
    await worker?.terminate()
  }
}
