// Caches the verified cards of agents elsewhere for a few minutes.
import { createExpiringMap, createSingleFlight } from '@postern/limits'
import type { System } from '@postern/message'
import { KeyNotMade } from '@postern/message'
import type { LookupStore } from '@postern/pipeline'
import type { A2aConfig } from '../../config.ts'
import type { AgentInterface } from '../exchange/bindings.ts'
import { openCallDeadline, refuseAgent } from '../exchange/fetch-document.ts'
import { findCard, readInterface } from './find.ts'
import { verifyCard } from './verify.ts'

/** A remote agent with a verified card. */
interface VerifiedAgent {
  readonly agentInterface: AgentInterface
  /** The address of its card. */
  readonly cardUrl: string
  readonly signedBy: string | undefined
}

interface CardCacheDeps {
  readonly config: Pick<A2aConfig, 'client'>
  readonly system: Pick<System, 'fetch' | 'now' | 'sleep'>
  readonly store: Pick<LookupStore, 'readOrCreateSecret' | 'hasSecret'>
}

/** The time limit for WebFinger, two cards and a key set together, ms. */
const lookupTimeoutMs = 30_000
const cacheLimits = { ms: 5 * 60_000, entries: 1_000 } as const

/**
 * Creates the function that finds the agent at an address. Valid cards are cached for a few minutes, and invalid ones never (A2A §8.6, A2A-C06).
 * The function throws Rejection `malformed`, Unavailable and Undeliverable.
 */
export function createCardCache({ config, system, store }: CardCacheDeps) {
  const { allowed_origins, unsigned_hosts } = config.client
  const allowedOrigins = new Set(allowed_origins)
  const isAllowedOrigin = (origin: string) => allowedOrigins.has(origin)
  const checkSigning = createSigningCheck(store, unsigned_hosts)
  const agents = createExpiringMap<VerifiedAgent>(cacheLimits.entries, () => system.now())
  /** A caller that gives up does not stop the lookup for the others. */
  const singleFlight = createSingleFlight<VerifiedAgent>()

  async function verifyAgent(address: string): Promise<VerifiedAgent> {
    const { signal, clear } = openCallDeadline(lookupTimeoutMs, undefined, system)
    try {
      const card = await findCard(address, system, signal)
      const signedBy = await verifyCard(card, { system, isAllowedOrigin }, signal)
      const agentInterface = readInterface(card, isAllowedOrigin)
      await checkSigning(new URL(card.url).host, { isSigned: signedBy !== undefined })
      return { agentInterface, cardUrl: card.url, signedBy }
    } finally {
      clear()
    }
  }

  return async (address: string, signal: AbortSignal): Promise<VerifiedAgent> => {
    const cachedAgent = agents.get(address)
    if (cachedAgent) return cachedAgent
    const agent = await waitFor(
      singleFlight(address, () => verifyAgent(address)),
      signal,
    )
    agents.set(address, agent, cacheLimits.ms)
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
 * Creates the check of unsigned cards. The store records permanently that a host signs its cards. Later unsigned cards of that host are rejected.
 * Otherwise an attacker could just remove the signature. The store has one entry for each host. With `a2a.client.unsigned_hosts`, the operator
 * confirms that a host no longer signs.
 */
function createSigningCheck(store: CardCacheDeps['store'], unsignedHosts: readonly string[]) {
  const allowedUnsignedHosts = new Set(unsignedHosts)
  const secretNameOf = (host: string) => `a2a:signs-cards:${host}`
  /**
   * Checks one card of the host. If the card is signed, the store records that the host signs its cards.
   * @throws Undeliverable if the host has signed before and this card is unsigned
   */
  return async (host: string, { isSigned }: { readonly isSigned: boolean }): Promise<void> => {
    if (isSigned) await store.readOrCreateSecret(secretNameOf(host), async () => 'signed').catch(ignoreReadOnlyStore)
    else if (!allowedUnsignedHosts.has(host) && (await store.hasSecret(secretNameOf(host)))) {
      throw refuseAgent('its card was signed before and is not now; a2a.client.unsigned_hosts would allow it')
    }
  }
}

/** Ignores the error of a read-only store, which cannot record anything. */
function ignoreReadOnlyStore(error: unknown): void {
  if (!(error instanceof KeyNotMade)) throw error
}
