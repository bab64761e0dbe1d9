import type { TrafficSender } from './senders.ts'

interface Addressee {
  /** Actor IRI of the agent that is mentioned. */
  readonly actorId: string
  /** `@name@host` */
  readonly handle: string
}

/** The vocabulary Mastodon spells out beside the ActivityStreams context. */
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

/** A `Create` of a public `Note` that mentions one agent, as Mastodon writes it; about 2.3 KB. */
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
