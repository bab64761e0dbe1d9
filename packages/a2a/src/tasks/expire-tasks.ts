import type { Platform, Store, TaskExpiry } from '@postern/core'

interface ExpiryRules {
  /** Tasks without activity for so long expire, ms; 0: none do. */
  readonly taskMs: number
  /** Tasks kept for one owner. */
  readonly most: number
  /** Bytes kept for one owner, attachments included. */
  readonly bytes: number
}

interface ExpiryDeps {
  readonly store: Pick<Store, 'expireTasks'>
  readonly platform: Pick<Platform, 'now' | 'sleep' | 'log'>
}

export interface Expiry {
  /** Counts the bytes of this owner's new message. */
  note(owner: string, bytes: number): void
  close(): void
}

const sweepMs = 60_000
/** Pause between two slices, for other work, ms. */
const pauseMs = 20
const sliceSize = 50
/** An owner that sends this part of their quota is checked at once. */
const hasty = 1 / 8

/** Keeps the store bounded: once a minute, and after many bytes at once, it removes expired tasks and those beyond an owner's quota. */
export function createExpiry({ store, platform }: ExpiryDeps, { taskMs, most, bytes: mostBytes }: ExpiryRules): Expiry {
  const closing = new AbortController()
  /** Bytes of each owner since the last sweep. The store has taken a message for every one of them, so they are few. */
  let owners = new Map<string, number>()
  let nap = new AbortController()

  async function takeAll(expiry: TaskExpiry): Promise<void> {
    for (let isDone = false; !isDone && !closing.signal.aborted; ) {
      const slice = await store.expireTasks(expiry)
      isDone = slice.isDone
      if (!isDone) await platform.sleep(pauseMs, closing.signal)
    }
  }

  async function sweep(): Promise<void> {
    if (taskMs > 0) await takeAll({ before: platform.now() - taskMs, limit: sliceSize })
    const noted = owners
    owners = new Map()
    for (const owner of noted.keys()) {
      await takeAll({ owner, most, limit: sliceSize })
      await takeAll({ owner, bytes: mostBytes, limit: sliceSize })
    }
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      await platform.sleep(sweepMs, nap.signal)
      nap = new AbortController()
      if (closing.signal.aborted) return
      await sweep().catch(err => platform.log.warn({ err, via: 'a2a' }, 'old tasks could not be taken out'))
    }
  }

  void run()
  return {
    note(owner, bytes) {
      const sum = (owners.get(owner) ?? 0) + bytes
      owners.set(owner, sum)
      if (sum >= mostBytes * hasty) nap.abort()
    },
    close() {
      closing.abort()
      nap.abort()
    },
  }
}
