import { hash } from 'node:crypto'
import type { AgentProfile, ChannelContext } from '@postern/core'
import { loadJose } from '@postern/http/tokens'
import type { A2aConfig } from '../config.ts'
import { findAddressee, listOfferedExtensions, toCanonicalJson } from '../endpoint/call.ts'
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

interface KnownCard {
  readonly agent: AgentProfile
  readonly kid: string
  readonly card: Promise<ServedCard>
}

/**
 * The signed cards of this gateway's agents. It signs a card once for each key, profile and form: ES256 signatures differ each time, but a card
 * should stay the same.
 */
export function createCards({ config, gateway, keys }: CardDeps) {
  const { origin } = gateway.agents
  const jku = origin + ownKeySetPath
  const known = new Map<string, KnownCard>()
  const grpcAddress = config.grpc && (config.grpc.address ?? `${new URL(origin).hostname}:${config.grpc.port}`)
  const extensions = listOfferedExtensions(gateway)
  const sourceOf = (agent: AgentProfile): CardSource => {
    return { agent, endpoint: `${origin}/agents/${agent.name}/a2a`, grpcAddress, tenant: agent.name, extensions }
  }

  async function serve(source: CardSource, key: OwnKey, isMixed: boolean): Promise<ServedCard> {
    const own = renderAgentCard(source, config)
    const card = isMixed ? renderMixedCard(own) : own
    // Some clients verify the card as it came, others only the members they know. Each finds a signature that fits.
    const signed = isMixed ? [card, own] : [own]
    const text = JSON.stringify({
      ...card,
      signatures: await Promise.all(signed.map(each => signCard(each, key, jku))),
    })
    // The content and the key determine the name, so that every process of the gateway uses the same one.
    const etag = `"${hash('sha256', key.kid + toCanonicalJson(card), 'base64url').slice(0, 27)}"`
    return { text, etag }
  }

  return {
    /** The card of an agent, or of the default agent at the host. `isMixed` adds the members of 0.3. @throws A2aRejection `notFound` */
    async find(name: string | undefined, { isMixed = false } = {}): Promise<ServedCard> {
      const agent = findAddressee(name, gateway)
      const source =
        name === undefined ? { agent, endpoint: `${origin}/a2a`, grpcAddress, extensions } : sourceOf(agent)
      const place = `${source.endpoint} ${isMixed}`
      const key = await keys.current()
      const before = known.get(place)
      if (before?.agent === agent && before.kid === key.kid) return before.card
      const card = serve(source, key, isMixed)
      known.set(place, { agent, kid: key.kid, card })
      return card
    },
    /** The extended card, for callers that identify themselves (A2A §3.1.11). */
    async renderExtended(agent: AgentProfile): Promise<object> {
      const card = renderExtendedCard(sourceOf(agent), config)
      return { ...card, signatures: [await signCard(card, await keys.current(), jku)] }
    },
  }
}

/** The signed text: the RFC 8785 form of the card without its signatures (A2A §8.4.1). */
export function toSignedBytes(card: object): Uint8Array {
  const { signatures: _, ...rest } = card as { readonly signatures?: unknown }
  return new TextEncoder().encode(toCanonicalJson(rest))
}

/** A JWS of a card without its payload (A2A §4.4.7, §8.4.2, RFC 7515 App. F); the key is published at `jku`. */
async function signCard(card: object, { privateKey, kid }: OwnKey, jku: string) {
  const { FlattenedSign } = await loadJose()
  const signed = await new FlattenedSign(toSignedBytes(card))
    .setProtectedHeader({ alg: 'ES256', kid, typ: 'JOSE', jku })
    .sign(privateKey)
  return { protected: signed.protected ?? '', signature: signed.signature }
}
