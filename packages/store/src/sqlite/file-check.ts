import { Worker } from 'node:worker_threads'

/** Half a percent of a core at most, whatever the size of the file. */
const mostShare = 200

interface FileCheckOptions {
  readonly path: string
  /** At least this long between two looks, ms. */
  readonly everyMs: number
  /** Told what is wrong with the file. */
  onDamage(problem: Error): void
}

/**
 * Reads the whole file now and then, in a thread of its own: a page that went bad under a running gateway is otherwise seen only when it is needed, and not
 * as long as a good copy of it lies in memory.
 * @returns what ends it
 */
export function watchPages({ path, everyMs, onDamage }: FileCheckOptions): () => Promise<void> {
  let worker: Worker | undefined
  let timer = setTimeout(look, everyMs)
  timer.unref()

  function look(): void {
    const began = performance.now()
    // Node 22 would warn of node:sqlite at every look.
    const execArgv = ['--disable-warning=ExperimentalWarning']
    worker = new Worker(new URL('./file-check-thread.ts', import.meta.url), { workerData: path, execArgv })
    worker.unref()
    worker.on('message', (problem: string | undefined) => {
      if (problem !== undefined) onDamage(new Error(problem))
    })
    // A thread that cannot be had finds nothing; the next one may.
    worker.on('error', () => undefined)
    worker.once('exit', () => {
      timer = setTimeout(look, Math.max(everyMs, mostShare * (performance.now() - began)))
      timer.unref()
    })
  }

  return async () => {
    clearTimeout(timer)
    worker?.removeAllListeners('exit')
    await worker?.terminate()
  }
}
