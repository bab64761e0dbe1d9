import type { AgentDirectory, AgentProfile, ProfileField } from '@postern/core'
import { isLinkField } from '@postern/core'
import { html, raw } from 'hono/html'
import type { Face } from './agent-card.ts'
import { describeDirectory } from './agent-card.ts'

type Markup = ReturnType<typeof html>

/** What a person sees who opens an agent's address. */
export function renderProfilePage(
  agent: AgentProfile,
  agents: AgentDirectory,
  { inbound }: Pick<Face, 'inbound'>,
): Markup {
  const { name, displayName, description, iconUrl, fields = [], isIndexable } = agent
  const { domain, origin } = agents
  const address = `@${name}@${domain}`
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${isIndexable ? '' : html`<meta name="robots" content="noindex">`}
<title>${displayName} (${address})</title>
${renderJsonLd(agent, agents, inbound)}
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}code{background:#8882;padding:.1em .3em}img{border-radius:1rem}dt{font-weight:bold}</style>
${iconUrl ? html`<img src="${iconUrl}" alt="" width="96" height="96">` : ''}
<h1>${displayName}</h1>
<p>${description}</p>
${fields.length > 0 ? html`<dl>${fields.map(renderFieldLine)}</dl>` : ''}
<p>This is an automated agent. Speak to it at <code>${address}</code>:</p>
<ul>
<li>from the fediverse: mention <code>${address}</code></li>
${inbound.includes('email') ? html`<li>by email: <a href="mailto:${name}@${domain}">${name}@${domain}</a></li>` : ''}
<li>from another agent (A2A): <a href="${origin}/agents/${name}/.well-known/agent-card.json">agent card</a></li>
</ul>
</html>`
}

/** The same as the directory: of this agent, and on the page that stands for the whole host of all of them (Mentionable §1.5). */
function renderJsonLd(agent: AgentProfile, agents: AgentDirectory, inbound: Face['inbound']): Markup {
  const { domain, origin, defaultAgent } = agents
  const list = () => (agent.name === defaultAgent ? agents.list() : [agent])
  const text = JSON.stringify(describeDirectory({ domain, origin, list }, { inbound })).replaceAll('<', '\\u003c')
  return html`<script type="application/ld+json">${raw(text)}</script>`
}

function renderFieldLine(field: ProfileField): Markup {
  const { name, value } = field
  const shown = isLinkField(field) ? html`<a href="${value}" rel="me nofollow noopener">${value}</a>` : value
  return html`<dt>${name}</dt><dd>${shown}</dd>`
}

/** What the page may load: its own style, and the picture from where it is. */
export function guardProfilePage({ iconUrl }: Pick<AgentProfile, 'iconUrl'>): string {
  const pictures = iconUrl && URL.canParse(iconUrl) ? `; img-src ${new URL(iconUrl).origin}` : ''
  return `default-src 'none'; style-src 'unsafe-inline'${pictures}`
}
