import { hash } from 'node:crypto'
import type { AgentProfile } from '@postern/core'
import type { A2aConfig } from './config.ts'
import { protocolVersions } from './version.ts'

/** A card as it is served. */
export interface ServedCard {
  readonly text: string
  readonly etag: string
}

export interface CardSource {
  readonly agent: AgentProfile
  /** The JSON-RPC endpoint. */
  readonly endpoint: string
}

/** The card of one agent; `endpoint` comes from the configured origin, never from a request. */
export function serveCard(source: CardSource, config: A2aConfig): ServedCard {
  const text = JSON.stringify(renderCard(source, config))
  return { text, etag: `"${hash('sha256', text, 'base64url').slice(0, 27)}"` }
}

/**
 * Agent card (A2A §4.4.1, §8). Implementations disagree on which defaults a signed card drops and how it escapes:
 * this one has nothing to drop or escape: no `false`, no empty string or array, ASCII only.
 */
export function renderCard({ agent, endpoint }: CardSource, config: A2aConfig): object {
  const name = toAscii(agent.displayName) || agent.name
  const description = toAscii(agent.description) || `The agent ${name}`
  const iconUrl = agent.iconUrl && URL.canParse(agent.iconUrl) ? new URL(agent.iconUrl).href : undefined
  return {
    name,
    description,
    version: toAscii(agent.version) || '1',
    supportedInterfaces: protocolVersions.map(protocolVersion => ({
      url: endpoint,
      protocolBinding: 'JSONRPC',
      protocolVersion,
    })),
    capabilities: {},
    ...renderSecurity(config),
    defaultInputModes: config.input_modes,
    defaultOutputModes: config.output_modes,
    skills: [{ id: 'conversation', name: 'Conversation', description, tags: ['conversation'] }],
    ...(iconUrl && { iconUrl }),
  }
}

/** Exactly what `authenticate` enforces. A requirement without scopes is an empty message, not an empty list. */
function renderSecurity({ auth }: A2aConfig): object {
  if (auth.anonymous && auth.issuers.length === 0) return {}
  const issuers = auth.issuers.map(({ issuer, audience }) => `${issuer} for audience ${toAscii(audience)}`)
  const description = issuers.length > 0 ? `JWT access token from ${issuers.join(' or ')}` : 'JWT access token'
  const scheme = { scheme: 'Bearer', bearerFormat: 'JWT', description: toAscii(description) }
  return {
    securitySchemes: { bearer: { httpAuthSecurityScheme: scheme } },
    ...(!auth.anonymous && { securityRequirements: [{ schemes: { bearer: {} } }] }),
  }
}

/** Accents are taken off, what is left outside ASCII is left out. */
function toAscii(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[^\x20-\x7e]/g, '')
    .trim()
}
