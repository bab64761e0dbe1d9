// Signs the agent cards and caches each signed text until its agent or the key changes.
import { hash } from 'node:crypto'
import { loadJose } from '@postern/http/tokens'
import { canonicalizeJson } from '@postern/message'
import type { AgentProfile, ChannelContext } from '@postern/pipeline'
import type { A2aConfig } from '../config.ts'
import { findAddressee } from '../endpoint/call.ts'
import { listOfferedExtensions } from '../endpoint/extensions.ts'
import type { OwnKey, OwnKeyRing } from '../keys/own-keys.ts'
import { ownKeySetPath } from '../keys/own-keys.ts'
import { renderMixedCard } from '../legacy/card.ts'
import type { CardSource } from './card.ts'
import { renderAgentCard, renderExtendedCard } from './card.ts'

/** A card as the gateway serves it: signed, as text. */
interface ServedCard {
  readonly text: string
  readonly etag: string
}

export type Cards = ReturnType<typeof createCards>

interface CardDeps {
  readonly config: A2aConfig
  readonly gateway: Pick<ChannelContext, 'agents' | 'identity'>
  readonly keys: OwnKeyRing
}

interface CardForm {
  /** True if the card also has the members of A2A 0.3. */
  readonly isMixed: boolean
}

interface CachedCard {
  readonly agent: AgentProfile
  readonly kid: string
  readonly card: Promise<ServedCard>
}

/**
 * Creates the source of signed cards of this gateway's agents. A card is signed once for each key, profile and form, because ES256 signatures differ each
 * time but a card should stay the same.
 */
export function createCards({ config, gateway, keys }: CardDeps) {
  const { origin } = gateway.agents
  const jku = origin + ownKeySetPath
  const cards = new Map<string, CachedCard>()
  const grpcAddress = config.grpc?.in_card
    ? (config.grpc.address ?? `${new URL(origin).hostname}:${config.grpc.port}`)
    : undefined
  const extensionsOf = (agent: AgentProfile) => listOfferedExtensions(gateway, agent)
  const sourceOf = (agent: AgentProfile): CardSource => {
    const extensions = extensionsOf(agent)
    return { agent, endpoint: `${origin}/agents/${agent.name}/a2a`, grpcAddress, tenant: agent.name, extensions }
  }

  async function createServedCard(source: CardSource, key: OwnKey, { isMixed }: CardForm): Promise<ServedCard> {
    const ownCard = renderAgentCard(source, config)
    const card = isMixed ? renderMixedCard(ownCard) : ownCard
    // Some clients verify the card as received, and others only the members that they know. The card has a signature for both.
    const cardsToSign = isMixed ? [card, ownCard] : [ownCard]
    const text = JSON.stringify({
      ...card,
      signatures: await Promise.all(cardsToSign.map(cardToSign => signCard(cardToSign, key, jku))),
    })
    // The content and the key determine the ETag, so that every process of the gateway sends the same one.
    const etag = `"${hash('sha256', key.kid + canonicalizeJson(card), 'base64url').slice(0, 27)}"`
    return { text, etag }
  }

  return {
    /** Returns the card of an agent, or of the default agent at the host. `isMixed` adds the members of A2A 0.3. @throws A2aRejection `notFound` */
    async find(name: string | undefined, { isMixed = false } = {}): Promise<ServedCard> {
      const agent = findAddressee(name, gateway)
      const source =
        name === undefined
          ? { agent, endpoint: `${origin}/a2a`, grpcAddress, extensions: extensionsOf(agent) }
          : sourceOf(agent)
      const cacheKey = `${source.endpoint} ${isMixed}`
      const key = await keys.findCurrent()
      const cachedCard = cards.get(cacheKey)
      if (cachedCard?.agent === agent && cachedCard.kid === key.kid) return cachedCard.card
      const card = createServedCard(source, key, { isMixed })
      cards.set(cacheKey, { agent, kid: key.kid, card })
      return card
    },
    /** Returns the extended card, for callers that identify themselves (A2A §3.1.11). */
    async renderExtended(agent: AgentProfile): Promise<object> {
      const card = renderExtendedCard(sourceOf(agent), config)
      return { ...card, signatures: [await signCard(card, await keys.findCurrent(), jku)] }
    },
  }
}

/** Returns the bytes to sign, which are the RFC 8785 form of the card without its signatures (A2A §8.4.1). @throws TypeError for a card without this form */
export function toSignedBytes(card: object): Uint8Array {
  const { signatures: _, ...unsignedCard } = card as { readonly signatures?: unknown }
  return new TextEncoder().encode(canonicalizeJson(unsignedCard))
}

/** Signs a card with a detached JWS (A2A §4.4.7, §8.4.2, RFC 7515 App. F). The key is published at `jku`. */
async function signCard(card: object, { privateKey, kid }: OwnKey, jku: string) {
  const { FlattenedSign } = await loadJose()
  const signature = await new FlattenedSign(toSignedBytes(card))
    .setProtectedHeader({ alg: 'ES256', kid, typ: 'JOSE', jku })
    .sign(privateKey)
  return { protected: signature.protected ?? '', signature: signature.signature }
}
