import type { AgentDirectory, AgentProfile } from '@postern/core'
import { html } from 'hono/html'

/** What a person sees who opens an agent's address. */
export function renderProfilePage(
  { name, displayName, description }: AgentProfile,
  { domain, origin }: AgentDirectory,
): ReturnType<typeof html> {
  const address = `@${name}@${domain}`
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${displayName} (${address})</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}code{background:#8882;padding:.1em .3em}</style>
<h1>${displayName}</h1>
<p>${description}</p>
<p>This is an automated agent. Speak to it at <code>${address}</code>:</p>
<ul>
<li>from the fediverse: mention <code>${address}</code></li>
<li>by email: <a href="mailto:${name}@${domain}">${name}@${domain}</a></li>
<li>from another agent (A2A): <a href="${origin}/agents/${name}/.well-known/agent-card.json">agent card</a></li>
</ul>
</html>`
}
