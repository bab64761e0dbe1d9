// Renders the agent card that tells callers how to reach an agent and what it can do.
import { escapeHtml } from '@postern/message'
import type { AgentProfile, AgentSkill } from '@postern/pipeline'
import { offeredSchemes, readScopeTable } from '../auth/schemes.ts'
import type { A2aConfig } from '../config.ts'
import type { Extension } from '../endpoint/extensions.ts'
import { supportedExtensions } from '../endpoint/extensions.ts'
import type { ProtocolVersion } from '../format/wire.ts'

export interface CardSource extends Endpoints {
  readonly agent: AgentProfile
  /** The extensions that the card lists. Default: the extensions of this protocol. */
  readonly extensions?: readonly Extension[] | undefined
}

/**
 * Renders the agent card (A2A §4.4.1, §8). Implementations disagree on the defaults that a signed card drops, so this card has no `false` and no
 * empty string, array or object. Names keep their script, because the official verifiers canonicalize any text by RFC 8785.
 */
export function renderAgentCard({ agent, extensions, ...endpoints }: CardSource, config: A2aConfig): object {
  const name = toLine(agent.displayName) || agent.name
  const description = toLine(agent.description) || `The agent ${name}`
  const { card = {} } = agent
  const icon = card.iconUrl ?? agent.iconUrl
  const iconUrl = icon && URL.canParse(icon) ? new URL(icon).href : undefined
  return {
    name,
    description,
    version: toLine(agent.version) || '1',
    ...(card.provider && { provider: { ...card.provider } }),
    ...(card.documentationUrl && { documentationUrl: card.documentationUrl }),
    supportedInterfaces: renderInterfaces(endpoints, config.versions),
    capabilities: renderCapabilities(config, extensions),
    ...renderSecurity(config),
    defaultInputModes: config.input_modes,
    defaultOutputModes: config.output_modes,
    skills: card.skills?.map(renderSkill) ?? [
      { id: 'conversation', name: 'Conversation', description, tags: ['conversation'] },
    ],
    ...(iconUrl && { iconUrl }),
  }
}

/** Omits absent members, because a signed card must have no empty ones. */
function renderSkill({ id, name, description, tags, examples, inputModes, outputModes }: AgentSkill): object {
  return {
    id,
    name,
    description,
    tags,
    ...(examples && { examples }),
    ...(inputModes && { inputModes }),
    ...(outputModes && { outputModes }),
  }
}

/** Renders the extended card for authenticated callers, which adds the limits to the public card. */
export function renderExtendedCard(source: CardSource, config: A2aConfig): object {
  const card = renderAgentCard(source, config) as { readonly capabilities: { readonly extensions: readonly object[] } }
  const { body_bytes, max_hops, streams_per_caller } = config.limits
  const limits = {
    uri: limitsExtension,
    description: 'The limits of this server for one caller.',
    params: { body_bytes, max_hops, streams_per_caller },
  }
  const { capabilities } = card
  return { ...card, capabilities: { ...capabilities, extensions: [...capabilities.extensions, limits] } }
}

const limitsExtension = 'urn:postern:a2a:limits:v1'

/** Returns true if there is an extended card. By default, there is one if all callers must identify themselves. */
export function hasExtendedCard({ auth, capabilities }: Pick<A2aConfig, 'auth' | 'capabilities'>): boolean {
  const isEnabled = capabilities.extended_card ?? !auth.anonymous
  return isEnabled && (auth.issuers.length > 0 || auth.api_keys.length > 0)
}

/** Returns the enabled capabilities. */
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
 * Renders the security schemes and requirements, exactly as `verifyCaller` enforces them. Each requirement lists all scopes, because tokens with
 * scopes need them. Some readers would drop an empty list before they verify the card.
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
  const schemeIssuers = issuers.filter(({ require_dpop }) => require_dpop === (scheme === 'DPoP'))
  const issuerNames = schemeIssuers.map(({ issuer, audience }) => `${issuer} for audience ${toLine(audience)}`)
  const kind = scheme === 'DPoP' ? 'Sender-constrained JWT access token' : 'JWT access token'
  const description = issuerNames.length > 0 ? `${kind} from ${issuerNames.join(' or ')}` : kind
  return { httpAuthSecurityScheme: { scheme, bearerFormat: 'JWT', description: toLine(description) } }
}

/** Renders the client credentials flow of each issuer with a token endpoint (A2A §4.5.4). */
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

/** Returns one line of well-formed text in any script. */
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
  /** The URL of the JSON-RPC endpoint. */
  readonly endpoint: string
  /** The host and port of the gRPC service. Undefined if there is none. */
  readonly grpcAddress?: string | undefined
  /** The agent's tenant in the gRPC service. Undefined for the default agent. */
  readonly tenant?: string | undefined
}

/** Returns the addresses of an agent, in order of preference (A2A §4.4.6). */
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

interface CardSectionOptions {
  readonly origin: string
  readonly config: Pick<A2aConfig, 'capabilities'>
  readonly extensions: readonly object[]
  /** True if callers need no credential. */
  readonly isAnonymous: boolean
}

/** Renders the member `a2a` of an agent's card (Mentionable, agent card v0.1), which tells callers how to call it. */
export function describeForCallers(
  { name, displayName, description, card }: AgentProfile,
  { origin, config, extensions, isAnonymous }: CardSectionOptions,
): object {
  const { streaming, push_notifications } = config.capabilities
  return {
    endpoint: `${origin}/agents/${name}/a2a`,
    // `card_url` is an extension of ours. It is the address of the signed A2A card, which has more members than this card.
    card_url: `${origin}/agents/${name}/.well-known/agent-card.json`,
    transport: 'https+jsonrpc',
    capabilities: { streaming, push_notifications, ...(extensions.length > 0 && { extensions }) },
    skills: card?.skills?.map(({ id, name, description }) => ({ id, name, description })) ?? [
      { id: 'conversation', name: displayName, description },
    ],
    input_modes: [
      { kind: 'text', mime: 'text/plain' },
      { kind: 'text', mime: 'text/markdown' },
    ],
    output_modes: [{ kind: 'text', mime: 'text/markdown' }],
    auth: { scheme: isAnonymous ? 'none' : 'bearer-jwt' },
  }
}

/** Returns the HTML for an agent's page that tells agents elsewhere how to call it. */
export function renderCallInvitation(agent: string, origin: string): string {
  const card = escapeHtml(`${origin}/agents/${agent}/.well-known/agent-card.json`)
  return `From another agent (A2A): <a href="${card}">agent card</a>`
}
