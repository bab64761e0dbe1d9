// Follows an address through WebFinger, agent card, actor, profile page and mail, as a peer does.
import type { Address } from '@postern/message'
import type { A2aView } from './a2a.ts'
import { readA2aView } from './a2a.ts'
import type { MailView } from './mail.ts'
import { readMailView } from './mail.ts'
import type { FetchedFile, FetchedObject, ResolveSystem } from './peer-fetch.ts'
import { fetchAsPeer, isHttps, listOrEmpty, objectOrUndefined, textOrUndefined } from './peer-fetch.ts'

export const cardRel = 'https://mentionable.dev/ns/rel/agent-card'
/** The relation before the move to `/ns/`, which some nodes still publish. */
export const legacyCardRel = 'https://mentionable.dev/agent-card'
export const pageRel = 'http://webfinger.net/rel/profile-page'

export interface Link {
  readonly rel: string | undefined
  readonly type: string | undefined
  readonly href: string | undefined
}

/** All documents that a peer finds at an address. */
export interface PeerView {
  readonly address: Address
  /** The account, `acct:name@domain`. */
  readonly account: string
  readonly webfinger: FetchedFile
  readonly links: readonly Link[]
  readonly card?: FetchedFile | undefined
  readonly a2a?: A2aView | undefined
  readonly actor?: FetchedFile | undefined
  /** WebFinger at the actor’s own host, if it is not the address’s domain. */
  readonly backLink?: FetchedFile | undefined
  readonly page?: FetchedFile | undefined
  readonly directory?: FetchedFile | undefined
  readonly mail?: MailView | undefined
  /** The URIs of all extensions of agent cards that this release knows. */
  readonly extensionUris: ReadonlySet<string>
}

const jrdTypes = 'application/jrd+json, application/json'
const activityTypes = 'application/activity+json, application/ld+json; profile="https://www.w3.org/ns/activitystreams"'

/** Fetches every document at an address. */
export async function readPeerView(address: Address, system: ResolveSystem): Promise<PeerView> {
  const account = `acct:${address.local}@${address.domain}`
  const webfinger = await fetchAsPeer(
    webFingerUrlOf(address.domain, account),
    { accept: jrdTypes, redirects: 1 },
    system,
  )
  const links = readLinks(webfinger.document)
  const [agentDocuments, actorDocuments, page, mail] = await Promise.all([
    readAgentDocuments(address, links, system),
    readActor(address, links, system),
    fetchLink(findLink(links, pageRel)?.href, { accept: 'text/html', redirects: 1 }, system),
    webfinger.document ? readMailView(address, findLink(links, 'mailto')?.href, system) : undefined,
  ])
  const { extensionUris } = system
  return { address, account, webfinger, links, page, mail, extensionUris, ...agentDocuments, ...actorDocuments }
}

/** Returns the WebFinger URL of an account at a host (RFC 7033 §4.1). */
export function webFingerUrlOf(host: string, account: string): string {
  return `https://${host}/.well-known/webfinger?resource=${encodeURIComponent(account)}`
}

async function readAgentDocuments(
  address: Address,
  links: readonly Link[],
  system: ResolveSystem,
): Promise<Partial<PeerView>> {
  const href = findCardLink(links)?.href
  if (!isHttps(href)) return {}
  const { origin } = new URL(href)
  const [card, a2a, directory] = await Promise.all([
    fetchAsPeer(href, { accept: 'application/json' }, system),
    readA2aView(address, origin, system.cards),
    fetchAsPeer(
      `${origin}/.well-known/mentionable-agents.json`,
      { accept: 'application/ld+json, application/json' },
      system,
    ),
  ])
  return { card, a2a, directory }
}

/** Fetches the actor. If its host is not the address’s domain, also fetches WebFinger there, which must name the same account (MN-13.3). */
async function readActor(
  { domain }: Address,
  links: readonly Link[],
  system: ResolveSystem,
): Promise<Partial<PeerView>> {
  const href = findActorLink(links)?.href
  const actor = await fetchLink(href, { accept: activityTypes, redirects: 1 }, system)
  const username = textOrUndefined(actor?.document?.preferredUsername)
  const host = href && URL.parse(href)?.hostname
  if (!username || !host || host === domain) return { actor }
  const account = `acct:${username}@${host}`
  return {
    actor,
    backLink: await fetchAsPeer(webFingerUrlOf(host, account), { accept: jrdTypes, redirects: 1 }, system),
  }
}

async function fetchLink(href: string | undefined, request: Parameters<typeof fetchAsPeer>[1], system: ResolveSystem) {
  return isHttps(href) ? fetchAsPeer(href, request, system) : undefined
}

function readLinks(jrd: FetchedObject | undefined): readonly Link[] {
  return listOrEmpty(jrd?.links).flatMap(entry => {
    const link = objectOrUndefined(entry)
    return link
      ? [{ rel: textOrUndefined(link.rel), type: textOrUndefined(link.type), href: textOrUndefined(link.href) }]
      : []
  })
}

export function findLink(links: readonly Link[], relation: string): Link | undefined {
  return links.find(({ rel }) => rel === relation)
}

/** Finds the link to the agent card. Prefers the current relation to the old one. */
export function findCardLink(links: readonly Link[]): Link | undefined {
  return findLink(links, cardRel) ?? findLink(links, legacyCardRel)
}

const activityType = /^application\/(activity\+json|ld\+json)(\s*;|$)/i

export function findActorLink(links: readonly Link[]): Link | undefined {
  return links.find(({ rel, type }) => rel === 'self' && activityType.test(type ?? ''))
}
