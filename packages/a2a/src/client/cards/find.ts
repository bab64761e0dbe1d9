// Finds the card of an agent by its address or URL.
import type { Address, System } from '@postern/message'
import { isJsonObject, parseAddress, parseUrl } from '@postern/message'
import type { AgentInterface, Binding } from '../exchange/bindings.ts'
import { fetchDocument, refuseAgent } from '../exchange/fetch-document.ts'

/** The card of an agent as it was fetched, with its address. Its signatures are not verified yet. */
export interface FetchedCard {
  readonly url: string
  readonly document: Readonly<Record<string, unknown>>
}

const cardRels: readonly unknown[] = [
  'https://mentionable.dev/ns/rel/agent-card',
  // Older nodes still use these names, from before the move to /ns/.
  'https://mentionable.dev/agent-card',
]
const jsonType = 'application/json'
const maxLinks = 64

type CardSystem = Pick<System, 'fetch' | 'now'>

/**
 * Finds the A2A card of a URL or of `@name@domain`. For an address, WebFinger names the Mentionable card, which may name the A2A card.
 * @throws Rejection `malformed` for an invalid address; Unavailable, Undeliverable
 */
export async function findCard(address: string, system: CardSystem, signal?: AbortSignal): Promise<FetchedCard> {
  if (/^https?:\/\//i.test(address)) return fetchCard(address, system, signal)
  const parsedAddress = parseAddress(address)
  const card = await fetchCard(await findCardUrl(parsedAddress, system, signal), system, signal)
  if (!isJsonObject(card.document.a2a)) return card
  return resolveMentionableCard(card, parsedAddress, system, signal)
}

async function fetchCard(url: string, system: CardSystem, signal: AbortSignal | undefined): Promise<FetchedCard> {
  return { url, document: await fetchDocument(url, system, { subject: 'its card', accept: jsonType, signal }) }
}

/**
 * Finds the address of a card by WebFinger (RFC 7033). It follows at most one redirect. The subject of the response must be the requested account
 * (Mentionable, WebFinger).
 */
async function findCardUrl({ local, domain }: Address, system: CardSystem, signal?: AbortSignal): Promise<string> {
  const subject = `acct:${local}@${domain}`
  const url = `https://${domain}/.well-known/webfinger?resource=${encodeURIComponent(subject)}`
  const accept = 'application/jrd+json, application/json'
  const jrd = await fetchDocument(url, system, { subject: 'WebFinger', accept, signal, redirects: 1 })
  if (typeof jrd.subject !== 'string' || jrd.subject.toLowerCase() !== subject) {
    throw refuseAgent('the subject of WebFinger is another account')
  }
  const links = Array.isArray(jrd.links) ? jrd.links.slice(0, maxLinks).filter(isJsonObject) : []
  const link = cardRels.flatMap(rel => links.filter(link => link.rel === rel)).find(({ href }) => isHttpsUrl(href))
  if (!link) throw refuseAgent('WebFinger names no agent card')
  return String(link.href)
}

/** Returns the A2A card that a Mentionable card names, or converts the Mentionable card. Both cards must have the same origin. */
async function resolveMentionableCard(
  { url, document }: FetchedCard,
  { local, domain }: Address,
  system: CardSystem,
  signal: AbortSignal | undefined,
): Promise<FetchedCard> {
  if (typeof document.address !== 'string' || document.address.toLowerCase() !== `@${local}@${domain}`) {
    throw refuseAgent('its card has the address of another agent')
  }
  const { card_url: cardUrl, endpoint, transport, auth } = document.a2a as Readonly<Record<string, unknown>>
  if (isHttpsUrl(cardUrl)) {
    if (new URL(cardUrl).origin !== new URL(url).origin) throw refuseAgent('its A2A card is on another origin')
    return fetchCard(cardUrl, system, signal)
  }
  if (!isHttpsUrl(endpoint) || transport !== 'https+jsonrpc')
    throw refuseAgent('its card names no A2A interface that we support')
  return { url, document: toA2aCard(document, { endpoint, auth }) }
}

/** Converts a Mentionable card to an A2A card. It contains everything that a call needs. */
function toA2aCard(
  { name }: Readonly<Record<string, unknown>>,
  { endpoint, auth }: { readonly endpoint: string; readonly auth: unknown },
): Readonly<Record<string, unknown>> {
  const isOpen = isJsonObject(auth) && auth.scheme === 'none'
  return {
    name,
    supportedInterfaces: [{ url: endpoint, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    ...(!isOpen && { securityRequirements: [{ schemes: { bearer: {} } }] }),
  }
}

function isHttpsUrl(value: unknown): value is string {
  return typeof value === 'string' && /^https:\/\//i.test(value) && parseUrl(value) !== undefined
}

const maxInterfaces = 32

interface InterfaceOffer {
  readonly url: unknown
  readonly binding: Binding
  readonly tenant?: unknown
}

/**
 * Returns the first interface of the card that we support, in the card's order (A2A §8.3.1). Interfaces of 1.0 precede those of 0.3.
 * @throws Undeliverable if there is no such interface, or if the card may not name its origin
 */
export function readInterface(
  { url, document }: FetchedCard,
  isAllowedOrigin: (origin: string) => boolean,
): AgentInterface {
  const { capabilities, securityRequirements, security } = document
  const offers = listOffers(document)
  const offer = offers.find(({ binding }) => binding !== 'JSONRPC 0.3') ?? offers[0]
  if (!offer) throw refuseAgent('its card names no A2A version and binding that we support')
  const { binding, tenant } = offer
  const target = typeof offer.url === 'string' ? parseUrl(offer.url) : undefined
  if (!target || target.search || target.hash) throw refuseAgent('its card names no usable address')
  if (target.origin !== new URL(url).origin && !isAllowedOrigin(target.origin)) {
    throw refuseAgent('its interface is on another origin than its card')
  }
  return {
    url: target.href,
    binding,
    tenant: typeof tenant === 'string' && tenant !== '' ? tenant.slice(0, 256) : undefined,
    canStream: isJsonObject(capabilities) && capabilities.streaming === true,
    needsCredential: [securityRequirements, security].some(list => Array.isArray(list) && list.length > 0),
    tokenUrl: findTokenUrl(document),
    inputModes: listTexts(document.defaultInputModes).map(mode => mode.toLowerCase()),
  }
}

/** Finds the token endpoint of the first scheme with client credentials, in the form of 1.0 or 0.3. */
function findTokenUrl({ securitySchemes }: Readonly<Record<string, unknown>>): string | undefined {
  const schemes = isJsonObject(securitySchemes) ? Object.values(securitySchemes) : []
  const urls = schemes.slice(0, maxSchemes).map(scheme => {
    const body = isJsonObject(scheme) ? (scheme.oauth2SecurityScheme ?? scheme) : undefined
    const flows = isJsonObject(body) ? body.flows : undefined
    const flow = isJsonObject(flows) ? flows.clientCredentials : undefined
    return isJsonObject(flow) ? flow.tokenUrl : undefined
  })
  return urls.find(url => typeof url === 'string')
}

const maxSchemes = 32
const maxModes = 200

function listTexts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.slice(0, maxModes).filter(item => typeof item === 'string') : []
}

function listOffers(card: Readonly<Record<string, unknown>>): readonly InterfaceOffer[] {
  const { supportedInterfaces } = card
  if (!Array.isArray(supportedInterfaces)) return listLegacyOffers(card)
  const interfaces = supportedInterfaces.slice(0, maxInterfaces).filter(isJsonObject)
  const readOffers = (defaultVersion: string | undefined) =>
    interfaces.flatMap(({ url, tenant, protocolBinding, protocolVersion }): InterfaceOffer[] => {
      const binding = findBinding(protocolBinding, protocolVersion || defaultVersion)
      return binding ? [{ url, tenant, binding }] : []
    })
  const offers = readOffers(undefined)
  if (offers.length > 0) return offers
  // Like a2a-python, we use an interface without a version only if there is no other, and assume version 1.0.
  const defaultOffers = readOffers('1.0')
  return defaultOffers.length > 0 ? defaultOffers : listLegacyOffers(card)
}

/** Lists the interfaces of a card of A2A 0.3 (its §5.5). The main interface precedes the additional ones. */
function listLegacyOffers(card: Readonly<Record<string, unknown>>): readonly InterfaceOffer[] {
  const { url, preferredTransport = 'JSONRPC', additionalInterfaces: interfaces, protocolVersion = '0.3' } = card
  const furtherInterfaces = Array.isArray(interfaces) ? interfaces.slice(0, maxInterfaces).filter(isJsonObject) : []
  return [{ url, transport: preferredTransport }, ...furtherInterfaces].flatMap((offer): InterfaceOffer[] => {
    const binding = offer.url === undefined ? undefined : findBinding(offer.transport, protocolVersion)
    return binding === 'JSONRPC 0.3' ? [{ url: offer.url, binding }] : []
  })
}

function findBinding(binding: unknown, version: unknown): Binding | undefined {
  if (typeof version !== 'string') return undefined
  if (/^1\.\d+(\.\d+)?$/.test(version)) return binding === 'JSONRPC' || binding === 'HTTP+JSON' ? binding : undefined
  return binding === 'JSONRPC' && /^0\.3(\.\d+)?$/.test(version) ? 'JSONRPC 0.3' : undefined
}
