// Answers WebFinger and host-meta for agents and for the gateway itself.

import { escapeHtml, parseIfAddress, Rejection } from '@postern/message'
import type { AgentDirectory, WebLink } from '@postern/pipeline'
import type { GatewayHosts } from './agent-card.ts'

/** The normative order of link relations (Mentionable, WebFinger). Other relations follow. */
const relationOrder = [
  'self',
  'https://mentionable.dev/ns/rel/agent-card',
  'http://webfinger.net/rel/profile-page',
  'mailto',
]

interface Jrd {
  readonly subject: string
  readonly aliases: readonly string[]
  readonly links: readonly WebLink[]
}

interface AgentLinkOptions {
  /** Returns the links of an agent. */
  listLinks(agent: string): readonly WebLink[]
  /** The requested relations of links. If there are none, all links are returned (RFC 7033 §4.3). */
  readonly rels?: readonly string[] | undefined
}

/**
 * Returns the JRD of an agent of this gateway (RFC 7033), by account or by its address on the web.
 * @throws Rejection `malformed`, `no_recipient`
 */
export function describeResource(
  resources: readonly string[],
  agents: AgentDirectory,
  { listLinks, rels = [] }: AgentLinkOptions,
): Jrd {
  const name = readAgentName(resources, agents)
  const agent = name === undefined ? undefined : agents.find(name)
  if (!agent) throw new Rejection('no_recipient', 'Cannot look up resource: there is no such agent here')
  const pageUrl = `${agents.origin}/agents/${agent.name}`
  const links: WebLink[] = [
    ...listLinks(agent.name),
    {
      rel: 'https://mentionable.dev/ns/rel/agent-card',
      type: 'application/json',
      href: `${agents.origin}/.well-known/agent-card/${agent.name}`,
    },
    { rel: 'http://webfinger.net/rel/profile-page', type: 'text/html', href: pageUrl },
  ]
  return {
    subject: `acct:${agent.name}@${agents.domain}`,
    aliases: [pageUrl],
    links: links
      .filter(({ rel }) => rels.length === 0 || rels.includes(rel))
      .toSorted((left, right) => rankLink(left) - rankLink(right)),
  }
}

/** Returns the requested name, even if no agent has it, or undefined for a name of another host. @throws Rejection `malformed` */
export function readAgentName(resources: readonly string[], gatewayHosts: GatewayHosts): string | undefined {
  const [resource] = resources
  if (resource && resources.length === 1) return findAgentName(resource, gatewayHosts)
  throw new Rejection('malformed', 'Cannot look up resource: expected exactly one "resource"')
}

function rankLink({ rel }: WebLink): number {
  const position = relationOrder.indexOf(rel)
  return position < 0 ? relationOrder.length : position
}

/** Finds the name in an account at the handles’ domain or the origin’s host, or in the actor’s address. Ignores case. */
function findAgentName(resource: string, { domain, origin }: GatewayHosts): string | undefined {
  if (/^https:/i.test(resource)) {
    const url = URL.parse(resource)
    if (url?.origin !== origin || url.search || url.hash || url.username || url.password) return undefined
    return /^\/agents\/([^/]+)\/?$/.exec(url.pathname)?.[1]?.toLowerCase()
  }
  const address = parseIfAddress(resource)
  return address?.domain === domain || address?.domain === new URL(origin).hostname ? address.local : undefined
}

/**
 * Returns the JRD of the gateway's own account, `acct:HOST@HOST` (RFC 7033), by the domain of the handles or the origin's host, or by an
 * address in its links. GoToSocial looks up the signer of a request, and the gateway signs its fetches as this account.
 * Returns undefined if the resource is something else.
 */
export function describeGatewayAccount(
  resource: string,
  hosts: GatewayHosts,
  { links, rels = [] }: { readonly links: readonly WebLink[]; readonly rels?: readonly string[] | undefined },
): Jrd | undefined {
  const aliases = links.map(({ href }) => href)
  if (links.length === 0 || !(aliases.includes(resource) || isGatewayAccount(resource, hosts))) return undefined
  return {
    subject: `acct:${hosts.domain}@${hosts.domain}`,
    aliases,
    links: links.filter(({ rel }) => rels.length === 0 || rels.includes(rel)),
  }
}

function isGatewayAccount(resource: string, { domain, origin }: GatewayHosts): boolean {
  const hosts = [domain, new URL(origin).hostname]
  const account = parseIfAddress(resource)
  return account !== undefined && hosts.includes(account.local) && hosts.includes(account.domain)
}

/**
 * Renders the address of WebFinger (RFC 6415). Mastodon asks for it if WebFinger answers 404 on the domain of a handle; Akkoma
 * and Pleroma ask for it first.
 */
export function renderHostMeta(origin: string): string {
  const template = escapeHtml(`${origin}/.well-known/webfinger?resource={uri}`)
  return `<?xml version="1.0" encoding="UTF-8"?>
<XRD xmlns="http://docs.oasis-open.org/ns/xri/xrd-1.0">
  <Link rel="lrdd" template="${template}"/>
</XRD>
`
}
