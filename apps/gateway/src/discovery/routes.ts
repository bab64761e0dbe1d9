import type { AgentDirectory, Channel } from '@postern/core'
import { Rejection } from '@postern/core'
import { Hono } from 'hono'
import { describeAgentCard, describeDirectory } from './agent-card.ts'
import { renderHostMeta } from './host-meta.ts'
import { renderProfilePage } from './profile-page.ts'
import { describeResource } from './webfinger.ts'

export interface DiscoveryOptions {
  readonly agents: AgentDirectory
  readonly channels: readonly Channel[]
  /** How A2A callers authenticate, in the words of the Mentionable card. */
  readonly auth: object
}

/** What ties the protocols to one address: WebFinger, the Mentionable card, the directory, the page for people. */
export function createDiscoveryRoutes({ agents, channels, auth }: DiscoveryOptions): Hono {
  const linksOf = (agent: string) => channels.flatMap(channel => channel.links(agent))
  const publicly = { 'access-control-allow-origin': '*', 'cache-control': 'public, max-age=300' }
  return new Hono()
    .get('/.well-known/webfinger', context => {
      const jrd = describeResource(context.req.queries('resource') ?? [], agents, linksOf)
      return context.body(JSON.stringify(jrd), 200, { ...publicly, 'content-type': 'application/jrd+json' })
    })
    .get('/.well-known/host-meta', context =>
      context.body(renderHostMeta(agents.origin), 200, { ...publicly, 'content-type': 'application/xrd+xml' }),
    )
    .get('/.well-known/agent-card/:agent', context => {
      return context.json(
        describeAgentCard(requireAgent(agents, context.req.param('agent')), agents, auth),
        200,
        publicly,
      )
    })
    .get('/.well-known/mentionable-agents.json', context => context.json(describeDirectory(agents), 200, publicly))
    .get('/agents/:agent', context => {
      const page = renderProfilePage(requireAgent(agents, context.req.param('agent')), agents)
      const guarded = { 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'", vary: 'Accept' }
      return context.html(page, 200, guarded)
    })
    .get('/', context => context.redirect(`/agents/${agents.defaultAgent ?? agents.list()[0]?.name ?? ''}`))
}

function requireAgent(agents: AgentDirectory, name: string) {
  const agent = agents.find(name.toLowerCase())
  if (!agent) throw new Rejection('no_recipient', 'Cannot find agent: there is none of this name here')
  return agent
}
