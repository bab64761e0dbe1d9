import { Unavailable } from '../format/errors.ts'
import type { Platform } from '../ports/platform/platform.ts'
import type { WorkStore } from '../ports/work-store.ts'

/** How often a store that is away is asked again, ms. */
const retryMs = 500

/** Results that the store could not take when they were ready. */
interface HeldResults {
  /**
   * What `write` comes to. While the store is away the result is held, and written once it is back.
   * @throws what `write` throws; `Unavailable` only after the end of the process has begun
   */
  keep<T>(write: () => Promise<T>): Promise<T>
  /** Tries all of them now: before new work is taken, lest a result's own work is taken up anew. */
  tryAll(): Promise<void>
}

/** `stop` aborts when nothing is to be held any more. */
export function createHeldResults({ sleep, log }: Pick<Platform, 'sleep' | 'log'>, stop: AbortSignal): HeldResults {
  const held = new Set<() => Promise<void>>()
  let isWatching = false

  async function watch(): Promise<void> {
    if (isWatching) return
    isWatching = true
    log.warn({}, 'the store is away: results are held until it is back')
    while (held.size > 0) {
      await sleep(retryMs, stop).catch(() => undefined)
      await tryAll()
    }
    isWatching = false
    log.warn({}, 'no results are held any more')
  }

  async function tryAll(): Promise<void> {
    await Promise.all([...held].map(attempt => attempt()))
  }

  function hold<T>(write: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let running: Promise<void> | undefined
      const tryOnce = async () => {
        try {
          resolve(await write())
        } catch (error) {
          if (isAway(error) && !stop.aborted) return
          reject(error)
        }
        held.delete(attempt)
      }
      const attempt = () => {
        running ??= tryOnce().finally(() => {
          running = undefined
        })
        return running
      }
      held.add(attempt)
      void watch()
    })
  }

  return {
    async keep(write) {
      try {
        return await write()
      } catch (error) {
        if (!isAway(error) || stop.aborted) throw error
        return hold(write)
      }
    },
    tryAll,
  }
}

function isAway(error: unknown): boolean {
  return error instanceof Unavailable
}

type Endings = Pick<WorkStore, 'commit' | 'release' | 'settle' | 'expand' | 'keepStreamed'>

/** The store, with all that ends work held until the store takes it. */
export function holdEndings<Store extends Partial<Endings>>(store: Store, { keep }: HeldResults): Store {
  const endings: Endings = {
    commit: (...args) => keep(async () => store.commit?.(...args)),
    release: (...args) => keep(async () => store.release?.(...args)),
    settle: (...args) => keep(async () => store.settle?.(...args)),
    expand: (...args) => keep(async () => store.expand?.(...args)),
    keepStreamed: (...args) => keep(async () => store.keepStreamed?.(...args)),
  }
  return Object.assign(Object.create(store) as Store, endings)
}
