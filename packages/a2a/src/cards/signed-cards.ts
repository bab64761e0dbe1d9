import { hash } from 'node:crypto'
import type { AgentProfile, ChannelContext } from '@postern/core'
import type { A2aConfig } from '../config.ts'
import { findAddressee } from '../endpoint/addressee.ts'
import { listOfferedExtensions } from '../endpoint/extensions.ts'
import { toCanonicalJson } from '../format/canonical.ts'
import type { OwnKey, OwnKeyRing } from '../keys/ring.ts'
import { ownKeySetPath } from '../keys/routes.ts'
import { renderMixedCard } from '../legacy/card.ts'
import type { CardSource } from './card.ts'
import { renderAgentCard, renderExtendedCard } from './card.ts'
import { signCard } from './signature.ts'

/** A card as it is served: signed, as text. */
interface ServedCard {
  readonly text: string
  readonly etag: string
}

/** The signed cards of this gateway's agents. */
export interface Cards {
  /**
   * Of an agent, or of the default agent at the host. `isMixed`: also with the members of 0.3.
   * @throws A2aRejection `notFound`
   */
  find(name: string | undefined, options?: { readonly isMixed?: boolean }): Promise<ServedCard>
  /** What only those may read who say who they are (A2A §3.1.11). */
  renderExtended(agent: AgentProfile): Promise<object>
}

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

/** A card is signed once for each key, profile and form: ES256 signatures differ from one to the next, cards should not. */
export function createCards({ config, gateway, keys }: CardDeps): Cards {
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
    // Some hold a signature against the card as it came, others against the members they know: each finds his.
    const signed = isMixed ? [card, own] : [own]
    const text = JSON.stringify({
      ...card,
      signatures: await Promise.all(signed.map(each => signCard(each, key, jku))),
    })
    // By content and key: every process of the gateway names the same card alike.
    const etag = `"${hash('sha256', key.kid + toCanonicalJson(card), 'base64url').slice(0, 27)}"`
    return { text, etag }
  }

  return {
    async find(name, { isMixed = false } = {}) {
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
    async renderExtended(agent) {
      const card = renderExtendedCard(sourceOf(agent), config)
      return { ...card, signatures: [await signCard(card, await keys.current(), jku)] }
    },
  }
}
