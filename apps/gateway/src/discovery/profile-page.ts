// Renders the page that a person sees at an agent's address.

import type { PageMarkup } from '@postern/http'
import { htmlPageHeaders, renderHtmlPage } from '@postern/http'
import type { ProfileField } from '@postern/message'
import { isLinkField } from '@postern/message'
import type { AgentDirectory, AgentProfile, PublicProfile } from '@postern/pipeline'
import { html, raw } from 'hono/html'
import type { AnnouncedFeatures } from './agent-card.ts'
import { describeDirectory, listAnnouncedChannels } from './agent-card.ts'

interface ProfilePage extends Pick<AnnouncedFeatures, 'channels'> {
  readonly agents: AgentDirectory
  /** Absent if no channel publishes posts of agents. */
  readonly publicProfile?: PublicProfile | undefined
}

export function renderProfilePage(agent: AgentProfile, page: ProfilePage): PageMarkup {
  const { displayName, iconUrl, isIndexable } = agent
  const address = `@${agent.name}@${page.agents.domain}`
  return renderHtmlPage({
    title: `${displayName} (${address})`,
    icon: iconUrl,
    isIndexable,
    head: html`${renderLinks(agent, page)}${renderPreview(agent, page)}${renderJsonLd(agent, page)}`,
    body: html`${renderHeader(agent, address, page.publicProfile)}
${renderInvitations(agent, page)}
${renderPosts(page.publicProfile)}
<footer>${displayName} is an automated agent on ${page.agents.domain}.</footer>`,
  })
}

function renderHeader(
  { displayName, description, iconUrl, fields = [] }: AgentProfile,
  address: string,
  publicProfile?: PublicProfile,
) {
  return html`<header class="who">${iconUrl ? html`<img src="${iconUrl}" alt="" width="72" height="72">` : ''}<div>
<h1>${displayName}</h1><span class="handle">${address}</span></div></header>
<div class="bio words">${publicProfile ? raw(publicProfile.bio) : html`<p>${description}</p>`}</div>
${fields.length > 0 ? html`<dl>${fields.map(renderFieldLine)}</dl>` : ''}
${publicProfile ? html`<p class="meta bio">${countFollowers(publicProfile.followers)}</p>` : ''}`
}

function countFollowers(count: number): string {
  return count === 1 ? '1 follower' : `${count.toLocaleString('en')} followers`
}

function renderInvitations({ name }: AgentProfile, { channels, publicProfile }: ProfilePage): PageMarkup {
  const invitations = listAnnouncedChannels(channels).flatMap(
    channel => channel.discovery?.renderInvitation?.(name) ?? [],
  )
  return html`<h2>Talk to it</h2>
<ul class="ways">
${invitations.map(invitation => html`<li>${raw(invitation)}</li>\n`)}
${publicProfile?.feed ? html`<li>Read along: <a href="${publicProfile.feed}">Atom feed</a> of its public posts</li>` : ''}
</ul>`
}

function renderPosts(publicProfile: PublicProfile | undefined): PageMarkup | '' {
  return publicProfile && publicProfile.posts.length > 0
    ? html`<h2>Recent posts</h2>${publicProfile.posts.map(post => raw(post))}`
    : ''
}

function renderLinks({ name }: AgentProfile, { agents: { origin }, channels, publicProfile }: ProfilePage): PageMarkup {
  const actorLinks = listAnnouncedChannels(channels)
    .flatMap(channel => channel.discovery?.links?.(name) ?? [])
    .filter(({ rel }) => rel === 'self')
  const feedLink = html`<link rel="alternate" type="application/atom+xml" title="Public posts" href="${publicProfile?.feed ?? ''}">`
  return html`<link rel="canonical" href="${origin}/agents/${name}">
${actorLinks.map(({ type, href }) => html`<link rel="alternate" type="${type ?? ''}" href="${href}">\n`)}${publicProfile?.feed ? feedLink : ''}`
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

/** The maximum number of agents in the page. The directory has all of them. */
const maxListedAgents = 100

/** Renders the directory entry of this agent. The page of the default agent represents the host, so it lists all agents (MN-1.5). */
function renderJsonLd(agent: AgentProfile, { agents, channels }: ProfilePage): PageMarkup {
  const { domain, origin, defaultAgent } = agents
  const listedAgents = agent.name === defaultAgent ? agents.list().slice(0, maxListedAgents) : [agent]
  const jsonLd = JSON.stringify(describeDirectory(listedAgents, { domain, origin }, { channels })).replaceAll(
    '<',
    '\\u003c',
  )
  return html`<script type="application/ld+json">${raw(jsonLd)}</script>`
}

function renderFieldLine(field: ProfileField): PageMarkup {
  const { name, value } = field
  const shownValue = isLinkField(field) ? html`<a href="${value}" rel="me nofollow noopener">${value}</a>` : value
  return html`<dt>${name}</dt><dd>${shownValue}</dd>`
}

/** Returns headers that let the page load only its own style and the agent’s picture. */
export function createProfilePageHeaders({ iconUrl }: Pick<AgentProfile, 'iconUrl'>): Readonly<Record<string, string>> {
  return { ...htmlPageHeaders([iconUrl]), vary: 'Accept' }
}
