import type { AgentProfile } from '@postern/core'
import { escapeHtml } from '@postern/core'
import type { A2aConfig } from '../config.ts'
import type { Extension } from '../endpoint/call.ts'
import { supportedExtensions } from '../endpoint/call.ts'
import type { ProtocolVersion } from '../format/wire.ts'
import { offeredSchemes, readScopeTable } from '../verify.ts'

export interface CardSource extends Endpoints {
  readonly agent: AgentProfile
  /** Default: the extensions of this protocol. */
  readonly extensions?: readonly Extension[] | undefined
}

/**
 * Agent card (A2A §4.4.1, §8). Implementations disagree on the defaults that a signed card drops. So this card has no `false` and no empty
 * string, array or object. Names keep their script, because the official verifiers canonicalize any text by RFC 8785.
 */
export function renderAgentCard({ agent, extensions, ...endpoints }: CardSource, config: A2aConfig): object {
  const name = toLine(agent.displayName) || agent.name
  const description = toLine(agent.description) || `The agent ${name}`
  const iconUrl = agent.iconUrl && URL.canParse(agent.iconUrl) ? new URL(agent.iconUrl).href : undefined
  return {
    name,
    description,
    version: toLine(agent.version) || '1',
    supportedInterfaces: renderInterfaces(endpoints, config.versions),
    capabilities: renderCapabilities(config, extensions),
    ...renderSecurity(config),
    defaultInputModes: config.input_modes,
    defaultOutputModes: config.output_modes,
    skills: [{ id: 'conversation', name: 'Conversation', description, tags: ['conversation'] }],
    ...(iconUrl && { iconUrl }),
  }
}

/** The part for callers who may call: the public card and the limits. */
export function renderExtendedCard(source: CardSource, config: A2aConfig): object {
  const card = renderAgentCard(source, config) as { readonly capabilities: { readonly extensions: readonly object[] } }
  const { body_bytes, max_hops, streams_per_caller } = config.limits
  const limits = {
    uri: limitsExtension,
    description: 'What this server takes of one caller.',
    params: { body_bytes, max_hops, streams_per_caller },
  }
  const { capabilities } = card
  return { ...card, capabilities: { ...capabilities, extensions: [...capabilities.extensions, limits] } }
}

const limitsExtension = 'urn:postern:a2a:limits:v1'

/** Whether callers can identify themselves, which the extended card needs. */
export function hasExtendedCard({ auth, capabilities }: Pick<A2aConfig, 'auth' | 'capabilities'>): boolean {
  return capabilities.extended_card && (auth.issuers.length > 0 || auth.api_keys.length > 0)
}

/** The enabled capabilities. */
function renderCapabilities(config: A2aConfig, supported = supportedExtensions): object {
  const extensions = supported.map(({ uri, description, required }) => ({
    uri,
    ...(description && { description }),
    ...(required && { required }),
  }))
  return {
    ...(config.capabilities.streaming && { streaming: true }),
    ...(config.capabilities.push_notifications && { pushNotifications: true }),
    ...(hasExtendedCard(config) && { extendedAgentCard: true }),
    extensions,
  }
}

type Schemes = Readonly<Record<string, object>>

/**
 * Exactly what `verifyCaller` enforces. Each requirement lists all scopes, because tokens with scopes need them. An empty list would be
 * dropped by some readers before they verify.
 */
function renderSecurity(config: A2aConfig): object {
  const { auth } = config
  if (auth.anonymous && auth.issuers.length === 0 && auth.api_keys.length === 0) return {}
  const securitySchemes: Schemes = Object.assign(
    {},
    ...offeredSchemes(auth).map(scheme => schemeRenderers[scheme](config)),
    renderOauth(config),
  )
  const list = [...new Set(Object.values(readScopeTable(config)))]
  const securityRequirements = Object.keys(securitySchemes).map(name => ({ schemes: { [name]: { list } } }))
  return { securitySchemes, ...(!auth.anonymous && { securityRequirements }) }
}

const schemeRenderers: Readonly<Record<'Bearer' | 'DPoP' | 'ApiKey', (config: A2aConfig) => Schemes>> = {
  Bearer: ({ auth }) => ({ bearer: renderHttpScheme('Bearer', auth) }),
  DPoP: ({ auth }) => ({ dpop: renderHttpScheme('DPoP', auth) }),
  ApiKey: ({ auth }) => ({ apiKey: { apiKeySecurityScheme: { location: 'header', name: auth.api_key_header } } }),
}

function renderHttpScheme(scheme: 'Bearer' | 'DPoP', { issuers }: A2aConfig['auth']): object {
  const meant = issuers.filter(({ require_dpop }) => require_dpop === (scheme === 'DPoP'))
  const named = meant.map(({ issuer, audience }) => `${issuer} for audience ${toLine(audience)}`)
  const kind = scheme === 'DPoP' ? 'Sender-constrained JWT access token' : 'JWT access token'
  const description = named.length > 0 ? `${kind} from ${named.join(' or ')}` : kind
  return { httpAuthSecurityScheme: { scheme, bearerFormat: 'JWT', description: toLine(description) } }
}

/** Client credentials, for each issuer that says where (A2A §4.5.4). */
function renderOauth(config: A2aConfig): Schemes {
  const issuers = config.auth.issuers.filter(({ token_endpoint }) => token_endpoint !== undefined)
  const scopes = Object.fromEntries(
    Object.entries(readScopeTable(config)).map(([operation, scope]) => [scope, `Allows ${operation}`]),
  )
  const schemes = issuers.map(({ token_endpoint: tokenUrl }, index): [string, object] => [
    index === 0 ? 'oauth2' : `oauth2-${index + 1}`,
    { oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl, scopes } } } },
  ])
  return Object.fromEntries(schemes)
}

/** One line of well-formed text in any script. */
function toLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
}

type Bindings = Readonly<Record<ProtocolVersion, readonly (readonly [binding: string, path: string])[]>>

const bindings: Bindings = {
  '1.0': [
    ['JSONRPC', ''],
    ['HTTP+JSON', '/rest'],
  ],
  '0.3': [['JSONRPC', '']],
}

interface Endpoints {
  /** JSON-RPC. */
  readonly endpoint: string
  /** Host and port of the gRPC service, if there is one. */
  readonly grpcAddress?: string | undefined
  /** The agent's tenant in the gRPC service; undefined for the default agent. */
  readonly tenant?: string | undefined
}

/** The addresses of an agent, in order of preference (A2A §4.4.6). */
function renderInterfaces(
  { endpoint, grpcAddress, tenant }: Endpoints,
  versions: readonly ProtocolVersion[],
): readonly object[] {
  const rows = versions.flatMap(protocolVersion =>
    bindings[protocolVersion].map(([protocolBinding, path]) => ({
      url: endpoint + path,
      protocolBinding,
      protocolVersion,
    })),
  )
  if (grpcAddress === undefined) return rows
  const grpc = { url: grpcAddress, protocolBinding: 'GRPC', protocolVersion: '1.0', ...(tenant && { tenant }) }
  return [...rows, grpc]
}

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
