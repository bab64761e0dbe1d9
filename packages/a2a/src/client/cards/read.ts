import { isJsonObject, parseUrl } from '@postern/core'
import type { AgentInterface, Binding } from '../exchange/agent-interface.ts'
import { refuseAgent } from '../exchange/refusals.ts'
import type { FoundCard } from './find.ts'

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
