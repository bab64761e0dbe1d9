// Removes expired tasks, and tasks beyond the quota of an owner.
import type { System } from '@postern/message'
import type { Store, TaskExpiry } from '@postern/pipeline'

interface ExpiryRules {
  /** The time after which a task without activity expires, ms. 0 keeps all tasks. */
  readonly taskMs: number
  /** The most tasks that are stored for one owner. */
  readonly most: number
  /** The most bytes that are stored for one owner, attachments included. */
  readonly bytes: number
}

interface ExpiryDeps {
  readonly store: Pick<Store, 'expireTasks'>
  readonly system: Pick<System, 'now' | 'sleep' | 'log'>
}

export type Expiry = ReturnType<typeof createExpiry>

const sweepMs = 60_000

/** The pause between two slices, which leaves time for other work, ms. */
const pauseMs = 20

const sliceSize = 50

/** The share of the quota after which an owner is checked at once. */
const hasty = 1 / 8

/**
 * Creates the sweeps that limit the size of the store. Once a minute, and after many bytes at once, they remove expired tasks and those beyond an
 * owner's quota.
 */
export function createExpiry({ store, system }: ExpiryDeps, { taskMs, most, bytes: mostBytes }: ExpiryRules) {
  const closing = new AbortController()
  /** The bytes of each owner since the last sweep. Each owner in it has a message in the store, so they are few. */
  let owners = new Map<string, number>()
  let nap = new AbortController()

  async function takeAll(expiry: TaskExpiry): Promise<void> {
    for (let isDone = false; !isDone && !closing.signal.aborted; ) {
      const slice = await store.expireTasks(expiry)
      isDone = slice.isDone
      if (!isDone) await system.sleep(pauseMs, closing.signal)
    }
  }

  async function sweep(): Promise<void> {
    if (taskMs > 0) await takeAll({ before: system.now() - taskMs, limit: sliceSize })
    const noted = owners
    owners = new Map()
    for (const owner of noted.keys()) {
      await takeAll({ owner, most, limit: sliceSize })
      await takeAll({ owner, bytes: mostBytes, limit: sliceSize })
    }
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      await system.sleep(sweepMs, nap.signal)
      nap = new AbortController()
      if (closing.signal.aborted) return
      await sweep().catch(err => system.log.warn({ err, via: 'a2a' }, 'old tasks could not be taken out'))
    }
  }

  void run()
  return {
    /** Counts the bytes of this owner's new message. */
    note(owner: string, bytes: number): void {
      const sum = (owners.get(owner) ?? 0) + bytes
      owners.set(owner, sum)
      if (sum >= mostBytes * hasty) nap.abort()
    },
    close(): void {
      closing.abort()
      nap.abort()
    },
  }
}
