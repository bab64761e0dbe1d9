// Checks the pages of a database file from time to time.
import { Worker } from 'node:worker_threads'

/** The factor of the pause after a check, which limits checks to half a percent of a core, whatever the size of the file. */
const pauseFactor = 200

interface FileCheckOptions {
  readonly path: string
  /** The shortest time between two checks, ms. */
  readonly everyMs: number
  /** Runs with the problem if the file is damaged. */
  onDamage(problem: Error): void
}

/**
 * Checks the whole file regularly, in a thread of its own. Otherwise a page that went bad under a running gateway is noticed only when it is needed,
 * and not while a good copy of it is in memory.
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
    // A thread that cannot start finds nothing. The next one may start.
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
