// Finds the card of an agent by its address or URL.
import type { Address, System } from '@postern/message'
import { isJsonObject, parseAddress, parseUrl } from '@postern/message'
import type { AgentInterface, Binding } from '../exchange/bindings.ts'
import { fetchDocument, refuseAgent } from '../exchange/fetch-document.ts'

/** The card of an agent as it was fetched, with its address. Its signatures are not verified yet. */
export interface FoundCard {
  readonly url: string
  readonly document: Readonly<Record<string, unknown>>
}

const cardRels: readonly unknown[] = [
  'https://mentionable.dev/ns/rel/agent-card',
  // Older nodes still use these names, from before the move to /ns/.
  'https://mentionable.dev/agent-card',
]
const json = 'application/json'
const maxLinks = 64

type CardSystem = Pick<System, 'fetch' | 'now'>

/**
 * Finds the A2A card of `@name@domain` (WebFinger, then the Mentionable card, then the A2A card that it names), or of a URL.
 * @throws Rejection `malformed` for an invalid address; Unavailable, Undeliverable
 */
export async function findCard(address: string, system: CardSystem, signal?: AbortSignal): Promise<FoundCard> {
  if (/^https?:\/\//i.test(address)) return fetchCard(address, system, signal)
  const parsedAddress = parseAddress(address)
  const card = await fetchCard(await findCardUrl(parsedAddress, system, signal), system, signal)
  if (!isJsonObject(card.document.a2a)) return card
  return followMentionable(card, parsedAddress, system, signal)
}

async function fetchCard(url: string, system: CardSystem, signal: AbortSignal | undefined): Promise<FoundCard> {
  return { url, document: await fetchDocument(url, system, { subject: 'its card', accept: json, signal }) }
}

/**
 * Finds the address of a card by WebFinger (RFC 7033). It follows at most one redirect. The answer's subject must be the requested name
 * (Mentionable, WebFinger).
 */
async function findCardUrl({ local, domain }: Address, system: CardSystem, signal?: AbortSignal): Promise<string> {
  const subject = `acct:${local}@${domain}`
  const url = `https://${domain}/.well-known/webfinger?resource=${encodeURIComponent(subject)}`
  const accept = 'application/jrd+json, application/json'
  const jrd = await fetchDocument(url, system, { subject: 'WebFinger', accept, signal, redirects: 1 })
  if (typeof jrd.subject !== 'string' || jrd.subject.toLowerCase() !== subject) {
    throw refuseAgent('WebFinger speaks of somebody else')
  }
  const links = Array.isArray(jrd.links) ? jrd.links.slice(0, maxLinks).filter(isJsonObject) : []
  const link = cardRels.flatMap(rel => links.filter(link => link.rel === rel)).find(({ href }) => isHttps(href))
  if (!link) throw refuseAgent('WebFinger names no agent card')
  return String(link.href)
}

/** Follows a Mentionable card, which names its owner. An A2A card beside it must have the same origin. */
async function followMentionable(
  { url, document }: FoundCard,
  { local, domain }: Address,
  system: CardSystem,
  signal: AbortSignal | undefined,
): Promise<FoundCard> {
  if (typeof document.address !== 'string' || document.address.toLowerCase() !== `@${local}@${domain}`) {
    throw refuseAgent('its card speaks of somebody else')
  }
  const { card_url: cardUrl, endpoint, transport, auth } = document.a2a as Readonly<Record<string, unknown>>
  if (isHttps(cardUrl)) {
    if (new URL(cardUrl).origin !== new URL(url).origin) throw refuseAgent('its A2A card is on another origin')
    return fetchCard(cardUrl, system, signal)
  }
  if (!isHttps(endpoint) || transport !== 'https+jsonrpc') throw refuseAgent('its card names no A2A interface of ours')
  return { url, document: toPlainCard(document, { endpoint, auth }) }
}

/** Converts a Mentionable card without an A2A card, which contains everything that a call needs. */
function toPlainCard(
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

function isHttps(value: unknown): value is string {
  return typeof value === 'string' && /^https:\/\//i.test(value) && parseUrl(value) !== undefined
}

const maxInterfaces = 32

interface Offer {
  readonly url: unknown
  readonly binding: Binding
  readonly tenant?: unknown
}

/**
 * Returns the first interface of the card that we support, in the card's order (A2A §8.3.1). If it offers no 1.0, it is one of 0.3.
 * @throws Undeliverable if there is none, or if it has an origin that the card may not name
 */
export function readInterface(
  { url, document }: FoundCard,
  isAllowedOrigin: (origin: string) => boolean,
): AgentInterface {
  const { capabilities, securityRequirements, security } = document
  const offers = listOffers(document)
  const offer = offers.find(({ binding }) => binding !== 'JSONRPC 0.3') ?? offers[0]
  if (!offer) throw refuseAgent('its card names no A2A interface that we speak')
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

function listOffers(card: Readonly<Record<string, unknown>>): readonly Offer[] {
  const { supportedInterfaces } = card
  if (!Array.isArray(supportedInterfaces)) return listLegacyOffers(card)
  const interfaces = supportedInterfaces.slice(0, maxInterfaces).filter(isJsonObject)
  const readOffers = (defaultVersion: string | undefined) =>
    interfaces.flatMap(({ url, tenant, protocolBinding, protocolVersion }): Offer[] => {
      const binding = findBinding(protocolBinding, protocolVersion || defaultVersion)
      return binding ? [{ url, tenant, binding }] : []
    })
  const offers = readOffers(undefined)
  if (offers.length > 0) return offers
  // Like a2a-python, we use an interface without a version last, and as one of 1.0. Members of 0.3 beside the interfaces do not change that.
  const defaultOffers = readOffers('1.0')
  return defaultOffers.length > 0 ? defaultOffers : listLegacyOffers(card)
}

/** Lists the interfaces of a card of 0.3 (its §5.5): the main address first, then the additional ones. */
function listLegacyOffers(card: Readonly<Record<string, unknown>>): readonly Offer[] {
  const { url, preferredTransport = 'JSONRPC', additionalInterfaces: interfaces, protocolVersion = '0.3' } = card
  const furtherInterfaces = Array.isArray(interfaces) ? interfaces.slice(0, maxInterfaces).filter(isJsonObject) : []
  return [{ url, transport: preferredTransport }, ...furtherInterfaces].flatMap((offer): Offer[] => {
    const binding = offer.url === undefined ? undefined : findBinding(offer.transport, protocolVersion)
    return binding === 'JSONRPC 0.3' ? [{ url: offer.url, binding }] : []
  })
}

function findBinding(binding: unknown, version: unknown): Binding | undefined {
  if (typeof version !== 'string') return undefined
  if (/^1\.\d+(\.\d+)?$/.test(version)) return binding === 'JSONRPC' || binding === 'HTTP+JSON' ? binding : undefined
  return binding === 'JSONRPC' && /^0\.3(\.\d+)?$/.test(version) ? 'JSONRPC 0.3' : undefined
}
