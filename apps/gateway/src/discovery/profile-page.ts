import type { AgentDirectory, AgentProfile, Channel, ProfileField, PublicProfile } from '@postern/core'
import { isLinkField } from '@postern/core'
import type { PageMarkup } from '@postern/http'
import { htmlPageHeaders, renderHtmlPage } from '@postern/http'
import { html, raw } from 'hono/html'

interface ProfilePage extends Pick<Face, 'channels'> {
  readonly agents: AgentDirectory
  /** Absent where agents have no public life. */
  readonly life?: PublicProfile | undefined
}

/** What a person sees who opens an agent's address. */
export function renderProfilePage(agent: AgentProfile, page: ProfilePage): PageMarkup {
  const { displayName, iconUrl, isIndexable } = agent
  const address = `@${agent.name}@${page.agents.domain}`
  return renderHtmlPage({
    title: `${displayName} (${address})`,
    icon: iconUrl,
    isIndexable,
    head: html`${renderLinks(agent, page)}${renderPreview(agent, page)}${renderJsonLd(agent, page)}`,
    body: html`${renderHead(agent, address, page.life)}
${renderWays(agent, page)}
${renderPosts(page.life)}
<footer>${displayName} is an automated agent on ${page.agents.domain}.</footer>`,
  })
}

function renderHead(
  { displayName, description, iconUrl, fields = [] }: AgentProfile,
  address: string,
  life?: PublicProfile,
) {
  return html`<header class="who">${iconUrl ? html`<img src="${iconUrl}" alt="" width="72" height="72">` : ''}<div>
<h1>${displayName}</h1><span class="handle">${address}</span></div></header>
<div class="bio words">${life ? raw(life.bio) : html`<p>${description}</p>`}</div>
${fields.length > 0 ? html`<dl>${fields.map(renderFieldLine)}</dl>` : ''}
${life ? html`<p class="meta bio">${countFollowers(life.followers)}</p>` : ''}`
}

function countFollowers(count: number): string {
  return count === 1 ? '1 follower' : `${count.toLocaleString('en')} followers`
}

function renderWays({ name }: AgentProfile, { channels, life }: ProfilePage): PageMarkup {
  const invitations = listAnnounced(channels).flatMap(channel => channel.renderInvitation?.(name) ?? [])
  return html`<h2>Talk to it</h2>
<ul class="ways">
${invitations.map(invitation => html`<li>${raw(invitation)}</li>\n`)}
${life?.feed ? html`<li>Read along: <a href="${life.feed}">Atom feed</a> of its public posts</li>` : ''}
</ul>`
}

function renderPosts(life: PublicProfile | undefined): PageMarkup | '' {
  return life && life.posts.length > 0 ? html`<h2>Recent posts</h2>${life.posts.map(post => raw(post))}` : ''
}

function renderLinks({ name }: AgentProfile, { agents: { origin }, channels, life }: ProfilePage): PageMarkup {
  const own = listAnnounced(channels)
    .flatMap(channel => channel.links(name))
    .filter(({ rel }) => rel === 'self')
  const feed = html`<link rel="alternate" type="application/atom+xml" title="Public posts" href="${life?.feed ?? ''}">`
  return html`<link rel="canonical" href="${origin}/agents/${name}">
${own.map(({ type, href }) => html`<link rel="alternate" type="${type ?? ''}" href="${href}">\n`)}${life?.feed ? feed : ''}`
}

function renderPreview({ name, displayName, description, iconUrl }: AgentProfile, { agents }: ProfilePage): PageMarkup {
  return html`<meta property="og:type" content="profile">
<meta property="og:site_name" content="${agents.domain}">
<meta property="og:title" content="${displayName} (@${name}@${agents.domain})">
<meta property="og:description" content="${description}">
<meta name="description" content="${description}">
<meta property="og:url" content="${agents.origin}/agents/${name}">
${iconUrl ? html`<meta property="og:image" content="${iconUrl}">` : ''}`
}

/** The same as the directory: of this agent, and on the page that stands for the whole host of all of them (MN-1.5). */
function renderJsonLd(agent: AgentProfile, { agents, channels }: ProfilePage): PageMarkup {
  const { domain, origin, defaultAgent } = agents
  const list = () => (agent.name === defaultAgent ? agents.list() : [agent])
  const text = JSON.stringify(describeDirectory({ domain, origin, list }, { channels })).replaceAll('<', '\\u003c')
  return html`<script type="application/ld+json">${raw(text)}</script>`
}

function renderFieldLine(field: ProfileField): PageMarkup {
  const { name, value } = field
  const shown = isLinkField(field) ? html`<a href="${value}" rel="me nofollow noopener">${value}</a>` : value
  return html`<dt>${name}</dt><dd>${shown}</dd>`
}

/** What the page may load: its own style, and the picture from where it is. */
export function guardProfilePage({ iconUrl }: Pick<AgentProfile, 'iconUrl'>): Readonly<Record<string, string>> {
  return { ...htmlPageHeaders([iconUrl]), vary: 'Accept' }
}

type Place = Pick<AgentDirectory, 'domain' | 'origin'>

/** What is switched on, for all agents alike. */
export interface Face {
  readonly channels: readonly Channel[]
  readonly extensions: readonly { readonly uri: string; readonly description: string }[]
}

/** The ways by which peers elsewhere can send. */
export function listAnnounced(channels: readonly Channel[]): readonly Channel[] {
  return channels.filter(({ isAnnounced }) => isAnnounced)
}

/** The Mentionable agent card, v0.1: one document for other agents, for servers and for people. */
export function describeAgentCard(
  agent: AgentProfile,
  { domain, origin }: Place,
  { channels, extensions }: Face,
): object {
  const { name, displayName, description, version, iconUrl, iconType } = agent
  const sections = channels.map(channel => channel.describeAgent?.(agent, { extensions }))
  return {
    address: `@${name}@${domain}`,
    name: displayName,
    description,
    ...(iconUrl && { icon: { url: iconUrl, ...(iconType && { mime: iconType }) } }),
    version,
    protocol_version: '0.1',
    ...Object.assign({}, ...sections),
    mentionable: {
      supported_inbound: listAnnounced(channels).map(channel => channel.descriptor.name),
      homepage: `${origin}/agents/${name}`,
    },
  }
}

/** Who can be spoken to here, as schema.org JSON-LD (`/.well-known/mentionable-agents.json`). */
export function describeDirectory(
  { origin, domain, list }: Place & Pick<AgentDirectory, 'list'>,
  { channels }: Pick<Face, 'channels'>,
): object {
  const open = listAnnounced(channels)
  return {
    '@context': ['https://schema.org', { mentionable: 'https://mentionable.dev/ns/v1#' }],
    '@type': 'Organization',
    name: domain,
    url: origin,
    contactPoint: list().map(({ name, displayName }) => ({
      '@type': 'ContactPoint',
      contactType: 'AI assistant',
      name: displayName,
      ...Object.assign({}, ...open.map(channel => channel.describeContact?.(name))),
      url: `${origin}/.well-known/agent-card/${name}`,
      'mentionable:protocols': open.map(channel => channel.descriptor.name),
      'mentionable:webfinger': `acct:${name}@${domain}`,
    })),
  }
}
