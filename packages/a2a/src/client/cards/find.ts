import type { Address, Platform } from '@postern/core'
import { isJsonObject, parseAddress, parseUrl } from '@postern/core'
import type { AgentInterface, Binding } from '../exchange/bindings.ts'
import { fetchDocument, refuseAgent } from '../exchange/fetch-document.ts'

/** Where the card of an agent is, before it is read. */
export interface FoundCard {
  readonly url: string
  readonly document: Readonly<Record<string, unknown>>
}

const cardRels: readonly unknown[] = [
  'https://mentionable.dev/ns/rel/agent-card',
  // Nodes from before the move to /ns/ still use these.
  'https://mentionable.dev/agent-card',
]
const json = 'application/json'
const mostLinks = 64

type CardPlatform = Pick<Platform, 'fetch' | 'now'>

/**
 * The A2A card of `@name@domain` (WebFinger, then the Mentionable card, then the A2A card that it names), or of a URL.
 * @throws Rejection `malformed` for an address that is none; Unavailable, Undeliverable
 */
export async function findCard(address: string, platform: CardPlatform, signal?: AbortSignal): Promise<FoundCard> {
  if (/^https?:\/\//i.test(address)) return fetchCard(address, platform, signal)
  const asked = parseAddress(address)
  const found = await fetchCard(await findCardUrl(asked, platform, signal), platform, signal)
  if (!isJsonObject(found.document.a2a)) return found
  return followMentionable(found, asked, platform, signal)
}

async function fetchCard(url: string, platform: CardPlatform, signal: AbortSignal | undefined): Promise<FoundCard> {
  return { url, document: await fetchDocument(url, platform, { what: 'its card', accept: json, signal }) }
}

/** RFC 7033. Follows one redirect at most. The answer's subject must be the requested name (Mentionable, WebFinger). */
async function findCardUrl({ local, domain }: Address, platform: CardPlatform, signal?: AbortSignal): Promise<string> {
  const subject = `acct:${local}@${domain}`
  const url = `https://${domain}/.well-known/webfinger?resource=${encodeURIComponent(subject)}`
  const accept = 'application/jrd+json, application/json'
  const jrd = await fetchDocument(url, platform, { what: 'WebFinger', accept, signal, redirects: 1 })
  if (typeof jrd.subject !== 'string' || jrd.subject.toLowerCase() !== subject) {
    throw refuseAgent('WebFinger speaks of somebody else')
  }
  const links = Array.isArray(jrd.links) ? jrd.links.slice(0, mostLinks).filter(isJsonObject) : []
  const found = cardRels.flatMap(rel => links.filter(link => link.rel === rel)).find(({ href }) => isHttps(href))
  if (!found) throw refuseAgent('WebFinger names no agent card')
  return String(found.href)
}

/** The Mentionable card, which names its owner. An A2A card beside it must have the same origin. */
async function followMentionable(
  { url, document }: FoundCard,
  { local, domain }: Address,
  platform: CardPlatform,
  signal: AbortSignal | undefined,
): Promise<FoundCard> {
  if (typeof document.address !== 'string' || document.address.toLowerCase() !== `@${local}@${domain}`) {
    throw refuseAgent('its card speaks of somebody else')
  }
  const { card_url: cardUrl, endpoint, transport, auth } = document.a2a as Readonly<Record<string, unknown>>
  if (isHttps(cardUrl)) {
    if (new URL(cardUrl).origin !== new URL(url).origin) throw refuseAgent('its A2A card is on another origin')
    return fetchCard(cardUrl, platform, signal)
  }
  if (!isHttps(endpoint) || transport !== 'https+jsonrpc') throw refuseAgent('its card names no A2A interface of ours')
  return { url, document: toPlainCard(document, { endpoint, auth }) }
}

/** A Mentionable card without an A2A card contains what a call needs. */
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

const mostInterfaces = 32

interface Offer {
  readonly url: unknown
  readonly binding: Binding
  readonly tenant?: unknown
}

/**
 * The first interface of the card that we speak, in the card's order (A2A §8.3.1); 0.3 if it offers no 1.0. @throws Undeliverable when
 * there is none, or when it has an origin that the card may not name
 */
export function readInterface(
  { url, document }: FoundCard,
  isAllowedOrigin: (origin: string) => boolean,
): AgentInterface {
  const { capabilities, securityRequirements, security } = document
  const offers = listOffers(document)
  const chosen = offers.find(({ binding }) => binding !== 'JSONRPC 0.3') ?? offers[0]
  if (!chosen) throw refuseAgent('its card names no A2A interface that we speak')
  const { binding, tenant } = chosen
  const target = typeof chosen.url === 'string' ? parseUrl(chosen.url) : undefined
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
  }
}

function listOffers(card: Readonly<Record<string, unknown>>): readonly Offer[] {
  const { supportedInterfaces } = card
  if (!Array.isArray(supportedInterfaces)) return listLegacyOffers(card)
  const named = supportedInterfaces.slice(0, mostInterfaces).filter(isJsonObject)
  return named.flatMap(({ url, tenant, protocolBinding, protocolVersion }): Offer[] => {
    const binding = nameBinding(protocolBinding, protocolVersion)
    return binding ? [{ url, tenant, binding }] : []
  })
}

/** A card of 0.3 (its §5.5): the main address first, then the additional ones. */
function listLegacyOffers(card: Readonly<Record<string, unknown>>): readonly Offer[] {
  const { url, preferredTransport = 'JSONRPC', additionalInterfaces: all, protocolVersion = '0.3' } = card
  const others = Array.isArray(all) ? all.slice(0, mostInterfaces).filter(isJsonObject) : []
  return [{ url, transport: preferredTransport }, ...others].flatMap((offer): Offer[] => {
    const binding = offer.url === undefined ? undefined : nameBinding(offer.transport, protocolVersion)
    return binding === 'JSONRPC 0.3' ? [{ url: offer.url, binding }] : []
  })
}

function nameBinding(binding: unknown, version: unknown): Binding | undefined {
  if (typeof version !== 'string') return undefined
  if (/^1\.\d+(\.\d+)?$/.test(version)) return binding === 'JSONRPC' || binding === 'HTTP+JSON' ? binding : undefined
  return binding === 'JSONRPC' && /^0\.3(\.\d+)?$/.test(version) ? 'JSONRPC 0.3' : undefined
}
