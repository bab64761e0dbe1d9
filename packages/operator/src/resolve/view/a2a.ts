// Reads the A2A cards of an agent and its host, as a caller would.
import type { FetchedCard } from '@postern/a2a'
import type { Address } from '@postern/message'
import { formatAddress } from '@postern/message'
import { describeFault } from './fault.ts'

/** One A2A card as the gateway’s own client reads it. */
export interface ReadCard {
  readonly url?: string | undefined
  /** The interface a caller would use. */
  readonly interface?: { readonly url: string; readonly binding: string; readonly needsCredential: boolean } | undefined
  readonly interfaceFault?: string | undefined
  /** The id of the key with a valid signature. */
  readonly signedBy?: string | undefined
  readonly signatureFault?: string | undefined
  /** The reason why there is no card. */
  readonly fault?: string | undefined
}

export interface A2aView {
  readonly agent: ReadCard
  readonly host: ReadCard
}

/** Finds and checks A2A cards as the gateway's own client does, and trusts only the card's own origin, as a stranger does. */
export interface CardReader {
  /** Finds the card of an address, or the one at a URL. @throws Unavailable, Undeliverable */
  find(address: string): Promise<FetchedCard>
  /** Returns the interface that a caller would use. @throws Undeliverable */
  readInterface(card: FetchedCard): NonNullable<ReadCard['interface']>
  /** Returns the id of the key with a valid signature. @throws Undeliverable */
  verify(card: FetchedCard): Promise<string | undefined>
}

export async function readA2aView(address: Address, origin: string, cards: CardReader): Promise<A2aView> {
  const [agent, host] = await Promise.all([
    readCard(formatAddress(address), cards),
    readCard(`${origin}/.well-known/agent-card.json`, cards),
  ])
  return { agent, host }
}

async function readCard(source: string, cards: CardReader): Promise<ReadCard> {
  const result = await attempt(() => cards.find(source))
  if ('fault' in result) return result
  const card = result.value
  const offer = await attempt(async () => cards.readInterface(card))
  const signature = await attempt(() => cards.verify(card))
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
