// Holds the results of work while the store is unavailable, and writes them once it is available again.
import type { System } from '@postern/message'
import { Unavailable } from '@postern/message'

/** The time between two attempts to reach an unavailable store, in ms. */
const retryMs = 500

/** The writes of results that wait until the store is available again. */
export class HeldWrites {
  readonly #deps: HeldWritesDeps
  readonly #held = new Set<() => Promise<void>>()
  #isWatching = false

  constructor(deps: HeldWritesDeps) {
    this.#deps = deps
  }

  /** Repeats a write that has failed with `error`, and resolves once it succeeds. @throws `error`, unless the store is unavailable */
  async hold(write: () => Promise<void>, error: unknown): Promise<void> {
    if (!this.#isHeld(error)) throw error
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    let running: Promise<void> | undefined
    const tryWrite = async () => {
      try {
        resolve(await write())
      } catch (failure) {
        if (this.#isHeld(failure)) return
        reject(failure)
      }
      this.#held.delete(retryWrite)
    }
    const retryWrite = () => {
      running ??= tryWrite().finally(() => {
        running = undefined
      })
      return running
    }
    this.#held.add(retryWrite)
    void this.#watch()
    await promise
  }

  async tryAll(): Promise<void> {
    await Promise.all([...this.#held].map(attempt => attempt()))
  }

  #isHeld(error: unknown): boolean {
    return error instanceof Unavailable && !this.#deps.stop.aborted
  }

  async #watch(): Promise<void> {
    if (this.#isWatching) return
    const { log, sleep, stop } = this.#deps
    this.#isWatching = true
    log.warn({}, 'the store is away: results are held until it is back')
    while (this.#held.size > 0) {
      await sleep(retryMs, stop).catch(() => undefined)
      await this.tryAll()
    }
    this.#isWatching = false
    log.warn({}, 'no results are held any more')
  }
}

export type HeldWritesDeps = Pick<System, 'sleep' | 'log'> & {
  /** Aborts when writes must no longer be held. */
  readonly stop: AbortSignal
}
