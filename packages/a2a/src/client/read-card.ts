import { isObject } from '../validate/shape.ts'
import type { FoundCard } from './find-card.ts'
import { refuseAgent } from './trust.ts'

export type Binding = 'JSONRPC' | 'HTTP+JSON'

/** What calling needs of a card. All other words of it are a stranger's and go nowhere. */
export interface AgentInterface {
  readonly url: string
  readonly binding: Binding
  /** Echoed in every request; says nothing of who we are (A2A §8.3). */
  readonly tenant: string | undefined
  readonly canStream: boolean
  /** Whether callers have to prove who they are. */
  readonly needsCredential: boolean
}

const bindings: ReadonlySet<unknown> = new Set<Binding>(['JSONRPC', 'HTTP+JSON'])
const mostInterfaces = 32

/**
 * The first interface of the card that we speak, in the card's order of preference (A2A §8.3.1).
 * @throws Undeliverable when there is none, or when it is on an origin that the card does not speak for
 */
export function readInterface(
  { url, document }: FoundCard,
  isAllowedOrigin: (origin: string) => boolean,
): AgentInterface {
  const { supportedInterfaces: all, capabilities, securityRequirements } = document
  const offered = Array.isArray(all) ? all.slice(0, mostInterfaces).filter(isObject) : []
  const chosen = offered.find(({ protocolBinding, protocolVersion }) => {
    return bindings.has(protocolBinding) && /^1\.\d+(\.\d+)?$/.test(String(protocolVersion))
  })
  if (!chosen) throw refuseAgent('its card names no A2A 1.0 interface that we speak')
  const { protocolBinding, tenant } = chosen
  const target = typeof chosen.url === 'string' && chosen.url.length <= 4096 ? URL.parse(chosen.url) : null
  if (!target || target.search || target.hash) throw refuseAgent('its card names no usable address')
  if (target.origin !== new URL(url).origin && !isAllowedOrigin(target.origin)) {
    throw refuseAgent('its interface is on another origin than its card')
  }
  return {
    url: target.href,
    binding: protocolBinding as Binding,
    tenant: typeof tenant === 'string' && tenant !== '' ? tenant.slice(0, 256) : undefined,
    canStream: isObject(capabilities) && capabilities.streaming === true,
    needsCredential: Array.isArray(securityRequirements) && securityRequirements.length > 0,
  }
}
