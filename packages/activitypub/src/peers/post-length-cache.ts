// Caches the longest post that each server allows.

import { createExpiringMap, createSingleFlight } from '@postern/limits'
import type { System } from '@postern/message'
import { defaultPostChars, fetchPostLength } from './post-lengths.ts'

export type PostLengthCache = ReturnType<typeof createPostLengthCache>

const lengthCacheMs = { success: 86_400_000, failure: 3_600_000 } as const

const maxHosts = 5_000

/** Creates the cache. The length is only a hint for splitting long responses. */
export function createPostLengthCache({ fetch, now }: Pick<System, 'fetch' | 'now'>) {
  const lengths = createExpiringMap<number>(maxHosts, now)
  const singleFlight = createSingleFlight<void>()

  async function fetchLength(host: string): Promise<void> {
    const { length, isKnown } = await fetchPostLength(host, { fetch, now })
    lengths.set(host, length, isKnown ? lengthCacheMs.success : lengthCacheMs.failure)
  }

  return {
    /** Returns the known length in characters, or the default for a host that has not been asked or has not answered. */
    findPostLength: (host: string) => lengths.get(host) ?? defaultPostChars,
    /** Asks the host unless it was asked lately. Concurrent calls share one request. It never throws. */
    async refresh(host: string): Promise<void> {
      if (lengths.get(host) === undefined) await singleFlight(host, () => fetchLength(host))
    },
  }
}
