// Generates signed posts of many senders to one agent.
import type { HttpAnswer } from '../http/message.ts'
import { gatewayHost } from '../ours/open.ts'
import type { Fediverse, KeyKind, TrafficSender } from './fediverse.ts'
import { createSenders, openFediverse } from './fediverse.ts'
import { signCavageDelivery, signRfc9421Delivery } from './sign-delivery.ts'

/** People on Mastodon-like servers who write to one agent, each post the first of a conversation of its own. */
export interface Traffic extends Disposable {
  readonly senders: readonly TrafficSender[]
  readonly fediverse: Fediverse
  /** Prepares signed requests that were never made before. */
  prepare(count: number, scheme?: SigningScheme): Promise<readonly Uint8Array[]>
}

interface TrafficOptions {
  readonly agent: string
  readonly senders: number
  readonly keys?: KeyKind
}

type SigningScheme = 'cavage' | 'rfc9421'

const signers = { cavage: signCavageDelivery, rfc9421: signRfc9421Delivery } as const
/** The first serial number, which differs in every run, because some measured servers outlive one. */
const firstSerial = Date.now() * 1000

export async function openTraffic({ agent, senders: count, keys = 'rsa' }: TrafficOptions): Promise<Traffic> {
  const senders = await createSenders(count, keys)
  const addressee = addressAgent(agent)
  const target = { host: gatewayHost, path: `/agents/${agent}/inbox` }
  const fediverse = await openFediverse(senders)
  let createdCount = 0
  const signOne = (scheme: SigningScheme): Promise<Uint8Array> => {
    const sequenceNumber = createdCount++
    const sender = senders[sequenceNumber % senders.length] as TrafficSender
    return signers[scheme](sender, target, formatCreateNote(sender, addressee, String(firstSerial + sequenceNumber)))
  }
  return {
    senders,
    fediverse,
    [Symbol.dispose]: fediverse.close,
    prepare: (length, scheme = keys === 'rsa' ? 'cavage' : 'rfc9421') =>
      Promise.all(Array.from({ length }, () => signOne(scheme))),
  }
}

/** Returns true if an answer shows that the inbox has accepted a post. */
export function isAccepted202({ status }: HttpAnswer): boolean {
  return status === 202
}

export function addressAgent(agent: string): Addressee {
  return { actorId: `https://${gatewayHost}/agents/${agent}`, handle: `@${agent}@${gatewayHost}` }
}

interface Addressee {
  /** The actor IRI of the mentioned agent. */
  readonly actorId: string
  /** The handle of the mentioned agent, `@name@host`. */
  readonly handle: string
}

/** The vocabulary that Mastodon spells out in addition to the ActivityStreams context. */
const context = [
  'https://www.w3.org/ns/activitystreams',
  {
    ostatus: 'http://ostatus.org#',
    atomUri: 'ostatus:atomUri',
    inReplyToAtomUri: 'ostatus:inReplyToAtomUri',
    conversation: 'ostatus:conversation',
    sensitive: 'as:sensitive',
    toot: 'http://joinmastodon.org/ns#',
    votersCount: 'toot:votersCount',
  },
]

const prose =
  'Good morning! Could you look up when the last train back from the coast leaves on Sunday, whether it takes bicycles, and what it costs for two? '

/** Formats a `Create` of a public `Note` that mentions one agent, as Mastodon writes it; about 2.3 KB. */
export function formatCreateNote(
  { host, actorId }: Pick<TrafficSender, 'host' | 'actorId'>,
  { actorId: agent, handle }: Addressee,
  serial: string,
): string {
  const id = `${actorId}/statuses/${serial}`
  const published = new Date().toISOString()
  const content = `<p><span class="h-card" translate="no"><a href="${agent}" class="u-url mention">${handle}</a></span> ${prose}</p>`
  const addressing = { to: ['https://www.w3.org/ns/activitystreams#Public'], cc: [`${actorId}/followers`, agent] }
  return JSON.stringify({
    '@context': context,
    id: `${id}/activity`,
    type: 'Create',
    actor: actorId,
    published,
    ...addressing,
    object: {
      id,
      type: 'Note',
      summary: null,
      inReplyTo: null,
      published,
      url: `https://${host}/@user/${serial}`,
      attributedTo: actorId,
      ...addressing,
      sensitive: false,
      atomUri: id,
      inReplyToAtomUri: null,
      conversation: `tag:${host},2026-01-01:objectId=${serial}:objectType=Conversation`,
      content,
      contentMap: { en: content },
      attachment: [],
      tag: [{ type: 'Mention', href: agent, name: handle }],
      replies: {
        id: `${id}/replies`,
        type: 'Collection',
        first: {
          type: 'CollectionPage',
          next: `${id}/replies?only_other_accounts=true&page=true`,
          partOf: `${id}/replies`,
          items: [],
        },
      },
    },
  })
}
