import type { A2aClientOptions } from './agent-client.ts'
import { findCard } from './find-card.ts'
import type { AgentInterface } from './read-card.ts'
import { readInterface } from './read-card.ts'
import { createSignedHosts } from './signed-hosts.ts'
import { verifyCard } from './verify-card.ts'

/** An agent elsewhere whose card was verified. */
export interface KnownAgent {
  readonly to: AgentInterface
  /** Where its card is. */
  readonly card: string
  readonly signedBy: string | undefined
}

export interface CardBook {
  /** @throws Rejection `malformed`, Unavailable, Undeliverable */
  look(address: string, signal: AbortSignal): Promise<KnownAgent>
}

const kept = { ms: 5 * 60_000, entries: 1_000 } as const

/** Cards that hold, for a few minutes; what does not hold is never kept (A2A §8.6, a2a.md C06). */
export function createCardBook({ config, world, desk }: A2aClientOptions): CardBook {
  const { allowed_origins, unsigned_hosts } = config.client
  const allowed = new Set(allowed_origins)
  const isAllowedOrigin = (origin: string) => allowed.has(origin)
  const signedHosts = createSignedHosts(desk, unsigned_hosts)
  const known = new Map<string, { readonly agent: KnownAgent; readonly until: number }>()

  async function resolve(address: string, signal: AbortSignal): Promise<KnownAgent> {
    const found = await findCard(address, world, signal)
    const signedBy = await verifyCard(found, { world, isAllowedOrigin }, signal)
    const to = readInterface(found, isAllowedOrigin)
    await signedHosts.hold(new URL(found.url).host, signedBy !== undefined)
    return { to, card: found.url, signedBy }
  }

  return {
    async look(address, signal) {
      const before = known.get(address)
      if (before && world.now() < before.until) return before.agent
      known.delete(address)
      const agent = await resolve(address, signal)
      if (known.size >= kept.entries) known.clear()
      known.set(address, { agent, until: world.now() + kept.ms })
      return agent
    },
  }
}
