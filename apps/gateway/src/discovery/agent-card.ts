import type { AgentDirectory, AgentProfile, Channel } from '@postern/core'

type Place = Pick<AgentDirectory, 'domain' | 'origin'>

/** What is switched on, for all agents alike. */
export interface Face {
  readonly channels: readonly Channel[]
  readonly extensions: readonly { readonly uri: string; readonly description: string }[]
}

/** The ways by which peers elsewhere can send. */
export function listAnnounced(channels: readonly Channel[]): readonly Channel[] {
  return channels.filter(({ isAnnounced }) => isAnnounced)
}

/** The Mentionable agent card, v0.1: one document for other agents, for servers and for people. */
export function describeAgentCard(
  agent: AgentProfile,
  { domain, origin }: Place,
  { channels, extensions }: Face,
): object {
  const { name, displayName, description, version, iconUrl, iconType } = agent
  const sections = channels.map(channel => channel.describeAgent?.(agent, { extensions }))
  return {
    address: `@${name}@${domain}`,
    name: displayName,
    description,
    ...(iconUrl && { icon: { url: iconUrl, ...(iconType && { mime: iconType }) } }),
    version,
    protocol_version: '0.1',
    ...Object.assign({}, ...sections),
    mentionable: {
      supported_inbound: listAnnounced(channels).map(channel => channel.descriptor.name),
      homepage: `${origin}/agents/${name}`,
    },
  }
}

/** Who can be spoken to here, as schema.org JSON-LD (`/.well-known/mentionable-agents.json`). */
export function describeDirectory(
  { origin, domain, list }: Place & Pick<AgentDirectory, 'list'>,
  { channels }: Pick<Face, 'channels'>,
): object {
  const open = listAnnounced(channels)
  return {
    '@context': ['https://schema.org', { mentionable: 'https://mentionable.dev/ns/v1#' }],
    '@type': 'Organization',
    name: domain,
    url: origin,
    contactPoint: list().map(({ name, displayName }) => ({
      '@type': 'ContactPoint',
      contactType: 'AI assistant',
      name: displayName,
      ...Object.assign({}, ...open.map(channel => channel.describeContact?.(name))),
      url: `${origin}/.well-known/agent-card/${name}`,
      'mentionable:protocols': open.map(channel => channel.descriptor.name),
      'mentionable:webfinger': `acct:${name}@${domain}`,
    })),
  }
}
