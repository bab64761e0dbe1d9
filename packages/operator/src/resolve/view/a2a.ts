// Reads the A2A cards of an agent and its host, as a caller would.
import type { FetchedCard } from '@postern/a2a'
import type { Address } from '@postern/message'
import { formatAddress } from '@postern/message'
import { describeFetchError } from './fetch-error.ts'

/** One A2A card as the gateway’s own client reads it. */
export interface A2aCardView {
  readonly url?: string | undefined
  /** The interface a caller would use. */
  readonly interface?: { readonly url: string; readonly binding: string; readonly needsCredential: boolean } | undefined
  readonly interfaceError?: string | undefined
  /** The id of the key with a valid signature. */
  readonly signedBy?: string | undefined
  readonly signatureError?: string | undefined
  /** The reason why there is no card. */
  readonly error?: string | undefined
}

export interface A2aView {
  readonly agent: A2aCardView
  readonly host: A2aCardView
}

/** Finds and checks A2A cards as the gateway's own client does, and trusts only the card's own origin, as a stranger does. */
export interface CardReader {
  /** Finds the card of an address, or the one at a URL. @throws Unavailable, Undeliverable */
  find(address: string): Promise<FetchedCard>
  /** Returns the interface that a caller would use. @throws Undeliverable */
  readInterface(card: FetchedCard): NonNullable<A2aCardView['interface']>
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

async function readCard(source: string, cards: CardReader): Promise<A2aCardView> {
  const result = await attempt(() => cards.find(source))
  if ('error' in result) return result
  const card = result.value
  const interfaceResult = await attempt(async () => cards.readInterface(card))
  const signatureResult = await attempt(() => cards.verify(card))
  return {
    url: card.url,
    ...('error' in interfaceResult ? { interfaceError: interfaceResult.error } : { interface: interfaceResult.value }),
    ...('error' in signatureResult ? { signatureError: signatureResult.error } : { signedBy: signatureResult.value }),
  }
}

async function attempt<Value>(
  work: () => Promise<Value>,
): Promise<{ readonly value: Value } | { readonly error: string }> {
  try {
    return { value: await work() }
  } catch (error) {
    return { error: describeFetchError(error).replace(/^Cannot call agent: /, '') }
  }
}
