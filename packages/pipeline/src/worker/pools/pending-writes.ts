// Keeps the results of work while the store is unavailable, and writes them once it is available again.
import type { System } from '@postern/message'
import { Unavailable } from '@postern/message'

/** The time between two attempts to reach an unavailable store, in ms. */
const retryMs = 500

/** The writes of results that wait until the store is available again. */
export class PendingWrites {
  readonly #deps: PendingWritesDeps
  readonly #pendingWrites = new Set<() => Promise<void>>()
  #isWatching = false

  constructor(deps: PendingWritesDeps) {
    this.#deps = deps
  }

  /** Repeats a write that has failed with `error`, and resolves once it succeeds. @throws `error`, unless the store is unavailable */
  async retryUntilStored(write: () => Promise<void>, error: unknown): Promise<void> {
    if (!this.#mayRetry(error)) throw error
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    let runningTry: Promise<void> | undefined
    const tryWrite = async () => {
      try {
        resolve(await write())
      } catch (failure) {
        if (this.#mayRetry(failure)) return
        reject(failure)
      }
      this.#pendingWrites.delete(retryWrite)
    }
    const retryWrite = () => {
      runningTry ??= tryWrite().finally(() => {
        runningTry = undefined
      })
      return runningTry
    }
    this.#pendingWrites.add(retryWrite)
    void this.#watch()
    await promise
  }

  /** Retries all writes that wait. Returns undefined if there are none. */
  retryAll(): Promise<void> | undefined {
    if (this.#pendingWrites.size === 0) return undefined
    return Promise.all([...this.#pendingWrites].map(retryWrite => retryWrite())).then(() => undefined)
  }

  #mayRetry(error: unknown): boolean {
    return error instanceof Unavailable && !this.#deps.stopSignal.aborted
  }

  async #watch(): Promise<void> {
    if (this.#isWatching) return
    const { log, sleep, stopSignal } = this.#deps
    this.#isWatching = true
    log.warn({}, 'the store is unavailable: results are kept until it is available again')
    while (this.#pendingWrites.size > 0) {
      await sleep(retryMs, stopSignal).catch(() => undefined)
      await this.retryAll()
    }
    this.#isWatching = false
    log.warn({}, 'all kept results are stored')
  }
}

export type PendingWritesDeps = Pick<System, 'sleep' | 'log'> & {
  /** Aborts when writes must no longer be retried. */
  readonly stopSignal: AbortSignal
}
