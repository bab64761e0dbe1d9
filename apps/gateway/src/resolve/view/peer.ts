import type { Address } from '@postern/core'
import type { A2aView } from './a2a.ts'
import { lookAtA2a } from './a2a.ts'
import type { Fetched, FetchedObject, ResolvePlatform } from './fetched.ts'
import { asFetchedObject, asList, asText, isHttps, lookAt } from './fetched.ts'
import type { MailView } from './mail.ts'
import { lookAtMail } from './mail.ts'

export const cardRel = 'https://mentionable.dev/ns/rel/agent-card'
/** What nodes of before the move to `/ns/` still emit. */
export const legacyCardRel = 'https://mentionable.dev/agent-card'
export const pageRel = 'http://webfinger.net/rel/profile-page'

export interface Link {
  readonly rel: string | undefined
  readonly type: string | undefined
  readonly href: string | undefined
}

/** Everything a peer gets to see that follows an address. */
export interface PeerView {
  readonly address: Address
  /** `acct:name@domain` */
  readonly account: string
  readonly webfinger: Fetched
  readonly links: readonly Link[]
  readonly card?: Fetched | undefined
  readonly a2a?: A2aView | undefined
  readonly actor?: Fetched | undefined
  /** WebFinger at the actor's own host, where that is another than the domain. */
  readonly backLink?: Fetched | undefined
  readonly page?: Fetched | undefined
  readonly directory?: Fetched | undefined
  readonly mail?: MailView | undefined
}

const jrdTypes = 'application/jrd+json, application/json'
const activityTypes = 'application/activity+json, application/ld+json; profile="https://www.w3.org/ns/activitystreams"'

/** Follows an address as far as it leads. */
export async function lookAtPeer(address: Address, platform: ResolvePlatform): Promise<PeerView> {
  const account = `acct:${address.local}@${address.domain}`
  const webfinger = await lookAt(addressOf(address.domain, account), { accept: jrdTypes, redirects: 1 }, platform)
  const links = readLinks(webfinger.document)
  const [described, federated, page, mail] = await Promise.all([
    lookAtAgent(address, links, platform),
    lookAtActor(address, links, platform),
    follow(findLink(links, pageRel)?.href, { accept: 'text/html', redirects: 1 }, platform),
    webfinger.document ? lookAtMail(address, findLink(links, 'mailto')?.href, platform) : undefined,
  ])
  return { address, account, webfinger, links, page, mail, ...described, ...federated }
}

function addressOf(host: string, account: string): string {
  return `https://${host}/.well-known/webfinger?resource=${encodeURIComponent(account)}`
}

async function lookAtAgent(
  address: Address,
  links: readonly Link[],
  platform: ResolvePlatform,
): Promise<Partial<PeerView>> {
  const href = findCardLink(links)?.href
  if (!isHttps(href)) return {}
  const { origin } = new URL(href)
  const [card, a2a, directory] = await Promise.all([
    lookAt(href, { accept: 'application/json' }, platform),
    lookAtA2a(address, origin, platform),
    lookAt(
      `${origin}/.well-known/mentionable-agents.json`,
      { accept: 'application/ld+json, application/json' },
      platform,
    ),
  ])
  return { card, a2a, directory }
}

/** The actor's host may be another than the domain; then it has to name the same account (MN-13.3). */
async function lookAtActor(
  { domain }: Address,
  links: readonly Link[],
  platform: ResolvePlatform,
): Promise<Partial<PeerView>> {
  const href = findActorLink(links)?.href
  const actor = await follow(href, { accept: activityTypes, redirects: 1 }, platform)
  const username = asText(actor?.document?.preferredUsername)
  const host = href && URL.parse(href)?.hostname
  if (!username || !host || host === domain) return { actor }
  const account = `acct:${username}@${host}`
  return { actor, backLink: await lookAt(addressOf(host, account), { accept: jrdTypes, redirects: 1 }, platform) }
}

async function follow(href: string | undefined, look: Parameters<typeof lookAt>[1], platform: ResolvePlatform) {
  return isHttps(href) ? lookAt(href, look, platform) : undefined
}

function readLinks(jrd: FetchedObject | undefined): readonly Link[] {
  return asList(jrd?.links).flatMap(entry => {
    const link = asFetchedObject(entry)
    return link ? [{ rel: asText(link.rel), type: asText(link.type), href: asText(link.href) }] : []
  })
}

export function findLink(links: readonly Link[], wanted: string): Link | undefined {
  return links.find(({ rel }) => rel === wanted)
}

/** The current relation goes before the old one. */
export function findCardLink(links: readonly Link[]): Link | undefined {
  return findLink(links, cardRel) ?? findLink(links, legacyCardRel)
}

const activityType = /^application\/(activity\+json|ld\+json)(\s*;|$)/i

export function findActorLink(links: readonly Link[]): Link | undefined {
  return links.find(({ rel, type }) => rel === 'self' && activityType.test(type ?? ''))
}
