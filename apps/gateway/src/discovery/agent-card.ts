import type { AgentDirectory, AgentProfile, ChannelName } from '@postern/core'

type Place = Pick<AgentDirectory, 'domain' | 'origin'>

/** What is switched on, for all agents alike. */
export interface Face {
  /** How A2A callers authenticate, in the words of the Mentionable card. */
  readonly auth: object
  /** By which ways a message can come in. */
  readonly inbound: readonly ChannelName[]
  readonly extensions: readonly { readonly uri: string; readonly description: string }[]
  /** What A2A callers may ask for beside an answer. */
  readonly capabilities?: { readonly streaming: boolean; readonly push_notifications: boolean } | undefined
}

/** The Mentionable agent card, v0.1: one document for A2A clients, ActivityPub readers and people. */
export function describeAgentCard(
  { name, displayName, description, version, iconUrl, iconType }: AgentProfile,
  { domain, origin }: Place,
  { auth, inbound, extensions, capabilities }: Face,
): object {
  return {
    address: `@${name}@${domain}`,
    name: displayName,
    description,
    ...(iconUrl && { icon: { url: iconUrl, ...(iconType && { mime: iconType }) } }),
    version,
    protocol_version: '0.1',
    a2a: {
      endpoint: `${origin}/agents/${name}/a2a`,
      // Ours: the signed A2A card, which holds what this one has no member for.
      card_url: `${origin}/agents/${name}/.well-known/agent-card.json`,
      transport: 'https+jsonrpc',
      capabilities: {
        ...(capabilities && {
          streaming: capabilities.streaming,
          push_notifications: capabilities.push_notifications,
        }),
        ...(extensions.length > 0 && { extensions }),
      },
      skills: [{ id: 'conversation', name: displayName, description }],
      input_modes: [
        { kind: 'text', mime: 'text/plain' },
        { kind: 'text', mime: 'text/markdown' },
      ],
      output_modes: [{ kind: 'text', mime: 'text/markdown' }],
      auth,
    },
    activitypub: { actor: `${origin}/agents/${name}` },
    mentionable: { supported_inbound: inbound, homepage: `${origin}/agents/${name}` },
  }
}

/** Who can be spoken to here, as schema.org JSON-LD (`/.well-known/mentionable-agents.json`). */
export function describeDirectory(
  { origin, domain, list }: Place & Pick<AgentDirectory, 'list'>,
  { inbound }: Pick<Face, 'inbound'>,
): object {
  return {
    '@context': ['https://schema.org', { mentionable: 'https://mentionable.dev/ns/v1#' }],
    '@type': 'Organization',
    name: domain,
    url: origin,
    contactPoint: list().map(({ name, displayName }) => ({
      '@type': 'ContactPoint',
      contactType: 'AI assistant',
      name: displayName,
      ...(inbound.includes('email') && { email: `${name}@${domain}` }),
      url: `${origin}/.well-known/agent-card/${name}`,
      'mentionable:protocols': inbound,
      'mentionable:webfinger': `acct:${name}@${domain}`,
    })),
  }
}
