import type { LookupStore, Platform } from '@postern/core'
import { createExpiringMap, createSingleFlight } from '@postern/limits'
import type { A2aConfig } from '../../config.ts'
import type { AgentInterface } from '../exchange/bindings.ts'
import { openCallDeadline, refuseAgent } from '../exchange/fetch-document.ts'
import { findCard, readInterface } from './find.ts'
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

/** ms for WebFinger, two cards and a key set together. */
const lookMs = 30_000
const kept = { ms: 5 * 60_000, entries: 1_000 } as const

/**
 * Finds the agent at an address. Valid cards are cached for a few minutes, and never an invalid one (A2A §8.6, A2A-C06). The function
 * throws Rejection `malformed`, Unavailable and Undeliverable.
 */
export function createCardCache({ config, platform, store }: CardCacheDeps) {
  const { allowed_origins, unsigned_hosts } = config.client
  const allowed = new Set(allowed_origins)
  const isAllowedOrigin = (origin: string) => allowed.has(origin)
  const holdSigned = createSignedHosts(store, unsigned_hosts)
  const known = createExpiringMap<VerifiedAgent>(kept.entries, () => platform.now())
  /** A caller that gives up does not stop the lookup for the others. */
  const share = createSingleFlight<VerifiedAgent>()

  async function resolve(address: string): Promise<VerifiedAgent> {
    const { signal, clear } = openCallDeadline(lookMs, undefined, platform)
    try {
      const found = await findCard(address, platform, signal)
      const signedBy = await verifyCard(found, { platform, isAllowedOrigin }, signal)
      const to = readInterface(found, isAllowedOrigin)
      await holdSigned(new URL(found.url).host, signedBy !== undefined)
      return { to, card: found.url, signedBy }
    } finally {
      clear()
    }
  }

  return async (address: string, signal: AbortSignal): Promise<VerifiedAgent> => {
    const before = known.get(address)
    if (before) return before
    const agent = await waitFor(
      share(address, () => resolve(address)),
      signal,
    )
    known.set(address, agent, kept.ms)
    return agent
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

/**
 * Remembers permanently that a host signs its cards, and refuses an unsigned card later. A host that signed once must go on: otherwise an attacker could just remove the signature. The store keeps one entry for each host. With
 * `a2a.client.unsigned_hosts` a person agrees that a host no longer signs.
 */
function createSignedHosts(store: CardCacheDeps['store'], unsignedHosts: readonly string[]) {
  const agreed = new Set(unsignedHosts)
  const nameOf = (host: string) => `a2a:signs-cards:${host}`
  /** @throws Undeliverable */
  return async (host: string, isSigned: boolean): Promise<void> => {
    if (isSigned) await store.secret(nameOf(host), async () => 'signed')
    else if (!agreed.has(host) && (await store.hasSecret(nameOf(host)))) {
      throw refuseAgent('its card was signed before and is not now; a2a.client.unsigned_hosts would allow it')
    }
  }
}
