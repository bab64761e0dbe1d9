// Deletes expired tasks, and tasks beyond the quota of an owner.
import type { System } from '@postern/message'
import type { Store, TaskExpiry } from '@postern/pipeline'

interface ExpiryRules {
  /** The time after which a task without activity expires, ms. 0 keeps all tasks. */
  readonly taskTtlMs: number
  /** The most tasks that are stored for one owner. */
  readonly maxTasks: number
  /** The most bytes that are stored for one owner, attachments included. */
  readonly maxBytes: number
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

/** The part of the quota after which an owner is checked immediately. */
const immediateCheckRatio = 1 / 8

/**
 * Creates the sweeps that limit the size of the store. Once a minute, and after many bytes at once, they remove expired tasks and those beyond an
 * owner's quota.
 */
export function createExpiry({ store, system }: ExpiryDeps, { taskTtlMs: taskMs, maxTasks, maxBytes }: ExpiryRules) {
  const shutdown = new AbortController()
  /** The bytes of each owner since the last sweep. The map has only owners with a stored message, so it stays small. */
  let bytesByOwner = new Map<string, number>()
  let sweepPause = new AbortController()

  async function expireAll(expiry: TaskExpiry): Promise<void> {
    for (let isDone = false; !isDone && !shutdown.signal.aborted; ) {
      const slice = await store.expireTasks(expiry)
      isDone = slice.isDone
      if (!isDone) await system.sleep(pauseMs, shutdown.signal)
    }
  }

  async function sweep(): Promise<void> {
    if (taskMs > 0) await expireAll({ unchangedSince: system.now() - taskMs, limit: sliceSize })
    const ownersToCheck = bytesByOwner
    bytesByOwner = new Map()
    for (const owner of ownersToCheck.keys()) {
      await expireAll({ owner, maxTasks, limit: sliceSize })
      await expireAll({ owner, maxBytes, limit: sliceSize })
    }
  }

  async function run(): Promise<void> {
    while (!shutdown.signal.aborted) {
      await system.sleep(sweepMs, sweepPause.signal)
      sweepPause = new AbortController()
      if (shutdown.signal.aborted) return
      await sweep().catch(err => system.log.warn({ err, via: 'a2a' }, 'old tasks could not be deleted'))
    }
  }

  void run()
  return {
    /** Counts the bytes of this owner's new message. */
    countBytes(owner: string, bytes: number): void {
      const sum = (bytesByOwner.get(owner) ?? 0) + bytes
      bytesByOwner.set(owner, sum)
      if (sum >= maxBytes * immediateCheckRatio) sweepPause.abort()
    },
    close(): void {
      shutdown.abort()
      sweepPause.abort()
    },
  }
}
