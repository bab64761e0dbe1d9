import type { FoundCard } from '@postern/a2a'
import { findCard, readInterface, verifyCard } from '@postern/a2a'
import type { Address, Platform } from '@postern/core'
import { formatAddress } from '@postern/core'
import { describeFault } from './fetched.ts'

/** One A2A card as our own client reads it. */
export interface ReadCard {
  readonly url?: string | undefined
  /** The interface a caller would use. */
  readonly interface?: { readonly url: string; readonly binding: string; readonly needsCredential: boolean } | undefined
  readonly interfaceFault?: string | undefined
  /** The id of the key whose signature holds. */
  readonly signedBy?: string | undefined
  readonly signatureFault?: string | undefined
  /** Why there is no card. */
  readonly fault?: string | undefined
}

export interface A2aView {
  readonly agent: ReadCard
  readonly host: ReadCard
}

type CardPlatform = Pick<Platform, 'fetch' | 'now'>

/** Trust is what a stranger has: the card's own origin, and nothing else. */
const isAllowedOrigin = () => false

export async function lookAtA2a(address: Address, origin: string, platform: CardPlatform): Promise<A2aView> {
  const [agent, host] = await Promise.all([
    readCard(() => findCard(formatAddress(address), platform), platform),
    readCard(() => findCard(`${origin}/.well-known/agent-card.json`, platform), platform),
  ])
  return { agent, host }
}

async function readCard(find: () => Promise<FoundCard>, platform: CardPlatform): Promise<ReadCard> {
  const found = await attempt(find)
  if ('fault' in found) return found
  const card = found.value
  const offer = await attempt(async () => readInterface(card, isAllowedOrigin))
  const signature = await attempt(() => verifyCard(card, { platform, isAllowedOrigin }))
  return {
    url: card.url,
    ...('fault' in offer ? { interfaceFault: offer.fault } : { interface: offer.value }),
    ...('fault' in signature ? { signatureFault: signature.fault } : { signedBy: signature.value }),
  }
}

async function attempt<Value>(
  work: () => Promise<Value>,
): Promise<{ readonly value: Value } | { readonly fault: string }> {
  try {
    return { value: await work() }
  } catch (error) {
    return { fault: describeFault(error).replace(/^Cannot call agent: /, '') }
  }
}
