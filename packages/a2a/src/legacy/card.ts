// Renders the agent card for clients of A2A 0.3.
import { isJsonObject } from '@postern/message'

type JsonObject = Readonly<Record<string, unknown>>

interface CurrentCard extends JsonObject {
  readonly supportedInterfaces: readonly { readonly url: string; readonly protocolVersion: string }[]
  readonly capabilities: JsonObject
  readonly securitySchemes?: Readonly<Record<string, JsonObject>> | undefined
  readonly securityRequirements?: readonly { readonly schemes: Readonly<Record<string, JsonObject>> }[] | undefined
}

/** Converts a card of A2A 1.0 to 0.3. The result is unsigned, because the signatures cover the original card. */
export function renderLegacyCard(card: object): JsonObject {
  const {
    supportedInterfaces,
    capabilities: { extendedAgentCard, ...capabilities },
    securitySchemes = {},
    securityRequirements = [],
    signatures: _,
    ...members
  } = card as CurrentCard
  const url = supportedInterfaces.find(({ protocolVersion }) => protocolVersion === '0.3')?.url ?? ''
  const schemes = Object.entries(securitySchemes).map(([name, scheme]) => [name, renderScheme(scheme)])
  return {
    protocolVersion: '0.3.0',
    ...members,
    url,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [{ url, transport: 'JSONRPC' }],
    capabilities,
    ...(extendedAgentCard === true && { supportsAuthenticatedExtendedCard: true }),
    ...(schemes.length > 0 && { securitySchemes: Object.fromEntries(schemes) }),
    ...(securityRequirements.length > 0 && { security: securityRequirements.map(renderRequirement) }),
  }
}

/**
 * Renders one card for both versions, because some clients name no version. It is the complete card of 1.0 with the members of 0.3. Readers ignore
 * the members that they do not know (A2A §5.7).
 */
export function renderMixedCard(card: object): object {
  const { securitySchemes = {}, ...currentMembers } = card as CurrentCard
  const { securitySchemes: legacySchemes = {}, ...members } = renderLegacyCard(card) as Partial<CurrentCard>
  const schemes = Object.entries(securitySchemes).map(([name, scheme]) => [name, { ...legacySchemes[name], ...scheme }])
  return { ...members, ...currentMembers, ...(schemes.length > 0 && { securitySchemes: Object.fromEntries(schemes) }) }
}

const schemeTypes: Readonly<Record<string, string>> = {
  httpAuthSecurityScheme: 'http',
  apiKeySecurityScheme: 'apiKey',
  oauth2SecurityScheme: 'oauth2',
  openIdConnectSecurityScheme: 'openIdConnect',
  mtlsSecurityScheme: 'mutualTLS',
}

function renderScheme(scheme: JsonObject): JsonObject {
  const [[kind, body] = ['', {}]] = Object.entries(scheme)
  const { location, ...members } = isJsonObject(body) ? body : {}
  return { type: schemeTypes[kind] ?? kind, ...members, ...(location !== undefined && { in: location }) }
}

function renderRequirement({ schemes }: { readonly schemes: Readonly<Record<string, JsonObject>> }): JsonObject {
  const entries = Object.entries(schemes).map(([name, { list }]) => [name, Array.isArray(list) ? list : []])
  return Object.fromEntries(entries)
}
