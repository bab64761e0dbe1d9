import type { AgentProfile } from '@postern/core'
import { escapeHtml } from '@postern/core'
import type { A2aConfig } from '../config.ts'

interface SectionOptions {
  readonly origin: string
  readonly config: Pick<A2aConfig, 'capabilities'>
  readonly extensions: readonly object[]
  /** Callers need no credential. */
  readonly isAnonymous: boolean
}

/** The member `a2a` of an agent's card (Mentionable, agent card v0.1): how to call it. */
export function describeForCallers(
  { name, displayName, description }: AgentProfile,
  { origin, config, extensions, isAnonymous }: SectionOptions,
): object {
  const { streaming, push_notifications } = config.capabilities
  return {
    endpoint: `${origin}/agents/${name}/a2a`,
    // Ours: the signed A2A card, which holds what this one has no member for.
    card_url: `${origin}/agents/${name}/.well-known/agent-card.json`,
    transport: 'https+jsonrpc',
    capabilities: { streaming, push_notifications, ...(extensions.length > 0 && { extensions }) },
    skills: [{ id: 'conversation', name: displayName, description }],
    input_modes: [
      { kind: 'text', mime: 'text/plain' },
      { kind: 'text', mime: 'text/markdown' },
    ],
    output_modes: [{ kind: 'text', mime: 'text/markdown' }],
    auth: { scheme: isAnonymous ? 'none' : 'bearer-jwt' },
  }
}

/** How agents elsewhere reach one of ours, for its page. */
export function renderCallInvitation(agent: string, origin: string): string {
  const card = escapeHtml(`${origin}/agents/${agent}/.well-known/agent-card.json`)
  return `From another agent (A2A): <a href="${card}">agent card</a>`
}
