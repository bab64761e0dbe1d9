import { Unavailable } from '../format/errors.ts'
import type { Platform } from '../ports/platform/platform.ts'
import type { ResultStore } from '../ports/work-store.ts'

/** How often a store that is away is asked again, ms. */
const retryMs = 500

/**
 * Brings results to the store. While the store is away they are held, and written once it is back. A write throws `Unavailable` only after the
 * end of the process has begun.
 */
export interface HeldResults extends ResultStore {
  /** Tries all that are held now: before new work is taken, lest a result's own work is taken up anew. */
  tryAll(): Promise<void>
}

type HeldDeps = Pick<Platform, 'sleep' | 'log'> & {
  /** Aborts when nothing is to be held any more. */
  readonly stop: AbortSignal
}

export function createHeldResults(store: ResultStore, deps: HeldDeps): HeldResults {
  const writes = new HeldWrites(deps)
  return {
    commit: (...args) => writes.keep(() => store.commit(...args)),
    release: (...args) => writes.keep(() => store.release(...args)),
    settle: (...args) => writes.keep(() => store.settle(...args)),
    expand: (...args) => writes.keep(() => store.expand(...args)),
    keepStreamed: (...args) => writes.keep(() => store.keepStreamed(...args)),
    tryAll: () => writes.tryAll(),
  }
}

class HeldWrites {
  readonly #deps: HeldDeps
  readonly #held = new Set<() => Promise<void>>()
  #isWatching = false

  constructor(deps: HeldDeps) {
    this.#deps = deps
  }

  async keep(write: () => Promise<void>): Promise<void> {
    try {
      await write()
    } catch (error) {
      if (!this.#isHeld(error)) throw error
      await this.#hold(write)
    }
  }

  async tryAll(): Promise<void> {
    await Promise.all([...this.#held].map(attempt => attempt()))
  }

  #isHeld(error: unknown): boolean {
    return error instanceof Unavailable && !this.#deps.stop.aborted
  }

  #hold(write: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      let running: Promise<void> | undefined
      const tryOnce = async () => {
        try {
          resolve(await write())
        } catch (error) {
          if (this.#isHeld(error)) return
          reject(error)
        }
        this.#held.delete(attempt)
      }
      const attempt = () => {
        running ??= tryOnce().finally(() => {
          running = undefined
        })
        return running
      }
      this.#held.add(attempt)
      void this.#watch()
    })
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
