import type { Desk, TaskExpiry, World } from '@postern/core'

export interface ExpiryRules {
  /** Tasks in which nothing has happened for so long go, ms; 0: none do. */
  readonly taskMs: number
  /** Tasks of one owner that are kept. */
  readonly most: number
}

export interface ExpiryRooms {
  readonly desk: Pick<Desk, 'expireTasks'>
  readonly world: Pick<World, 'now' | 'sleep' | 'log'>
}

export interface Expiry {
  /** This owner has a task more. */
  note(owner: string): void
  close(): void
}

const sweepMs = 60_000
/** Between two slices others get their turn, ms. */
const pauseMs = 20
const sliceSize = 50
/** Owners looked after in one sweep; a hint that may be lost. */
const maxOwners = 10_000

/** Keeps the store bounded: once a minute takes out what has expired, and what an owner has beyond his share. */
export function createExpiry({ desk, world }: ExpiryRooms, { taskMs, most }: ExpiryRules): Expiry {
  const closing = new AbortController()
  let owners = new Set<string>()

  async function takeAll(expiry: TaskExpiry): Promise<void> {
    for (let isDone = false; !isDone && !closing.signal.aborted; ) {
      const slice = await desk.expireTasks(expiry)
      isDone = slice.isDone
      if (!isDone) await world.sleep(pauseMs, closing.signal)
    }
  }

  async function sweep(): Promise<void> {
    if (taskMs > 0) await takeAll({ before: world.now() - taskMs, limit: sliceSize })
    const noted = owners
    owners = new Set()
    for (const owner of noted) await takeAll({ owner, most, limit: sliceSize })
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      await world.sleep(sweepMs, closing.signal)
      if (closing.signal.aborted) return
      await sweep().catch(err => world.log.warn({ err, via: 'a2a' }, 'old tasks could not be taken out'))
    }
  }

  void run()
  return {
    note(owner) {
      if (owners.size < maxOwners) owners.add(owner)
    },
    close: () => closing.abort(),
  }
}
