import type { AgentDirectory, AgentProfile } from '@postern/core'

/** The Mentionable agent card, v0.1: one document for A2A clients, ActivityPub readers and people. */
export function describeAgentCard(
  { name, displayName, description, version, iconUrl }: AgentProfile,
  { domain, origin }: AgentDirectory,
  auth: object,
): object {
  return {
    address: `@${name}@${domain}`,
    name: displayName,
    description,
    ...(iconUrl && { icon: { url: iconUrl } }),
    version,
    protocol_version: '0.1',
    a2a: {
      endpoint: `${origin}/agents/${name}/a2a`,
      // Ours: the signed A2A card, which holds what this one has no member for.
      card_url: `${origin}/agents/${name}/.well-known/agent-card.json`,
      transport: 'https+jsonrpc',
      capabilities: {},
      skills: [{ id: 'conversation', name: displayName, description }],
      input_modes: [
        { kind: 'text', mime: 'text/plain' },
        { kind: 'text', mime: 'text/markdown' },
      ],
      output_modes: [{ kind: 'text', mime: 'text/markdown' }],
      auth,
    },
    activitypub: { actor: `${origin}/agents/${name}` },
    mentionable: { supported_inbound: ['activitypub', 'a2a', 'email'], homepage: `${origin}/agents/${name}` },
  }
}

/** Who can be spoken to here, as schema.org JSON-LD (`/.well-known/mentionable-agents.json`). */
export function describeDirectory(agents: AgentDirectory): object {
  const { origin, domain } = agents
  return {
    '@context': ['https://schema.org', { mentionable: 'https://mentionable.dev/ns/v1#' }],
    '@type': 'Organization',
    name: domain,
    url: origin,
    contactPoint: agents.list().map(({ name, displayName }) => ({
      '@type': 'ContactPoint',
      contactType: 'AI assistant',
      name: displayName,
      email: `${name}@${domain}`,
      url: `${origin}/.well-known/agent-card/${name}`,
      'mentionable:protocols': ['activitypub', 'a2a', 'email'],
      'mentionable:webfinger': `acct:${name}@${domain}`,
    })),
  }
}
