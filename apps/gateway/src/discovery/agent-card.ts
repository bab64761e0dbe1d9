// Describes agents to programs: the Mentionable agent card, and the directory of all agents as JSON-LD.
import type { AgentDirectory, AgentProfile, Channel } from '@postern/pipeline'

export type GatewayHosts = Pick<AgentDirectory, 'domain' | 'origin'>

/** The channels and extensions of the gateway. Agents announce all extensions, and the channels that have a `discovery`. */
export interface AnnouncedFeatures {
  readonly channels: readonly Channel[]
  readonly extensions: readonly { readonly uri: string; readonly description: string }[]
}

/** Returns the channels by which peers outside the gateway can send messages. */
export function listAnnouncedChannels(channels: readonly Channel[]): readonly Channel[] {
  return channels.filter(({ discovery }) => discovery !== undefined)
}

/** Returns the Mentionable agent card, v0.1, for other agents and servers. */
export function describeAgentCard(
  agent: AgentProfile,
  { domain, origin }: GatewayHosts,
  { channels, extensions }: AnnouncedFeatures,
): object {
  const { name, displayName, description, version, iconUrl, iconType } = agent
  const sections = channels.map(channel => channel.discovery?.describeAgent?.(agent, { extensions }))
  return {
    address: `@${name}@${domain}`,
    name: displayName,
    description,
    ...(iconUrl && { icon: { url: iconUrl, ...(iconType && { mime: iconType }) } }),
    version,
    protocol_version: '0.1',
    ...Object.assign({}, ...sections),
    mentionable: {
      supported_inbound: listAnnouncedChannels(channels).map(channel => channel.descriptor.name),
      homepage: `${origin}/agents/${name}`,
    },
  }
}

/** Returns the agents as schema.org JSON-LD (`/.well-known/mentionable-agents.json`). */
export function describeDirectory(
  agents: readonly AgentProfile[],
  { origin, domain }: GatewayHosts,
  { channels }: Pick<AnnouncedFeatures, 'channels'>,
): object {
  const announcedChannels = listAnnouncedChannels(channels)
  return {
    '@context': ['https://schema.org', { mentionable: 'https://mentionable.dev/ns/v1#' }],
    '@type': 'Organization',
    name: domain,
    url: origin,
    contactPoint: agents.map(({ name, displayName }) => ({
      '@type': 'ContactPoint',
      contactType: 'AI assistant',
      name: displayName,
      ...Object.assign({}, ...announcedChannels.map(channel => channel.discovery?.describeContact?.(name))),
      url: `${origin}/.well-known/agent-card/${name}`,
      'mentionable:protocols': announcedChannels.map(channel => channel.descriptor.name),
      'mentionable:webfinger': `acct:${name}@${domain}`,
    })),
  }
}
