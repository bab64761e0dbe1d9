import type { AgentDirectory, WebLink } from '@postern/core'
import { parseAddress } from '@postern/core'
import type { Jrd } from './webfinger.ts'

type GatewayNames = Pick<AgentDirectory, 'domain' | 'origin'>

/**
 * The JRD of the gateway's own account, `acct:HOST@HOST` (RFC 7033), by the domain of the handles or the origin's host, or by an address
 * in its links. GoToSocial looks up the name of whoever signs a request, and the gateway signs what it fetches by this account.
 * Undefined when something else is asked for.
 */
export function describeGatewayAccount(
  resource: string,
  names: GatewayNames,
  links: readonly WebLink[],
  rels: readonly string[] = [],
): Jrd | undefined {
  const aliases = links.map(({ href }) => href)
  if (links.length === 0 || !(aliases.includes(resource) || isGatewayAccount(resource, names))) return undefined
  return {
    subject: `acct:${names.domain}@${names.domain}`,
    aliases,
    links: links.filter(({ rel }) => rels.length === 0 || rels.includes(rel)),
  }
}

function isGatewayAccount(resource: string, { domain, origin }: GatewayNames): boolean {
  const hosts = [domain, new URL(origin).hostname]
  try {
    const account = parseAddress(resource)
    return hosts.includes(account.local) && hosts.includes(account.domain)
  } catch {
    return false
  }
}
