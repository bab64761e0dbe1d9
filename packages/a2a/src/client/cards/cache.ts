import type { LookupStore, Platform } from '@postern/core'
import { createExpiringMap, createSingleFlight } from '@postern/limits'
import type { A2aConfig } from '../../config.ts'
import type { AgentInterface } from '../exchange/agent-interface.ts'
import { openCallDeadline } from '../exchange/call-deadline.ts'
import { findCard } from './find.ts'
import { readInterface } from './read.ts'
import { createSignedHosts } from './signed-hosts.ts'
import { verifyCard } from './verify.ts'

/** A remote agent with a verified card. */
interface VerifiedAgent {
  readonly to: AgentInterface
  /** The address of its card. */
  readonly card: string
  readonly signedBy: string | undefined
}

interface CardCacheDeps {
  readonly config: Pick<A2aConfig, 'client'>
  readonly platform: Pick<Platform, 'fetch' | 'now' | 'sleep'>
  readonly store: Pick<LookupStore, 'secret' | 'hasSecret'>
}

interface CardCache {
  /** @throws Rejection `malformed`, Unavailable, Undeliverable */
  look(address: string, signal: AbortSignal): Promise<VerifiedAgent>
}

/** ms for WebFinger, two cards and a key set together. */
const lookMs = 30_000
const kept = { ms: 5 * 60_000, entries: 1_000 } as const

/** Caches valid cards for a few minutes and never an invalid one (A2A §8.6, A2A-C06). */
export function createCardCache({ config, platform, store }: CardCacheDeps): CardCache {
  const { allowed_origins, unsigned_hosts } = config.client
  const allowed = new Set(allowed_origins)
  const isAllowedOrigin = (origin: string) => allowed.has(origin)
  const signedHosts = createSignedHosts(store, unsigned_hosts)
  const known = createExpiringMap<VerifiedAgent>(kept.entries, () => platform.now())
  /** A caller that gives up does not stop the lookup for the others. */
  const share = createSingleFlight<VerifiedAgent>()

  async function resolve(address: string): Promise<VerifiedAgent> {
    const { signal, clear } = openCallDeadline(lookMs, undefined, platform)
    try {
      const found = await findCard(address, platform, signal)
      const signedBy = await verifyCard(found, { platform, isAllowedOrigin }, signal)
      const to = readInterface(found, isAllowedOrigin)
      await signedHosts.hold(new URL(found.url).host, signedBy !== undefined)
      return { to, card: found.url, signedBy }
    } finally {
      clear()
    }
  }

  return {
    async look(address, signal) {
      const before = known.get(address)
      if (before) return before
      const agent = await waitFor(
        share(address, () => resolve(address)),
        signal,
      )
      known.set(address, agent, kept.ms)
      return agent
    },
  }
}

function waitFor<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
