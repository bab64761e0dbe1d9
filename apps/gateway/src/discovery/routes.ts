// Serves the documents by which peers discover agents: WebFinger, agent card, directory and the page for people.
import type { AgentDeps } from '@postern/agents'
import { favicon, faviconPath, writeProblem } from '@postern/http'
import { Rejection } from '@postern/message'
import type { AgentDirectory, AgentProfile } from '@postern/pipeline'
import { Hono } from 'hono'
import type { AnnouncedFeatures } from './agent-card.ts'
import { describeAgentCard, describeDirectory, listAnnouncedChannels } from './agent-card.ts'
import { createProfilePageHeaders, renderProfilePage } from './profile-page.ts'
import { describeGatewayAccount, describeResource, readAgentName, renderHostMeta } from './webfinger.ts'

interface DiscoveryOptions extends AnnouncedFeatures {
  readonly agents: AgentDirectory & Pick<AgentDeps, 'findIcon'>
}

export function createDiscoveryRoutes({ agents, ...features }: DiscoveryOptions): Hono {
  const { channels } = features
  const announcedChannels = listAnnouncedChannels(channels)
  const isFormerAgent = async (name: string) =>
    (await Promise.all(channels.map(channel => channel.discovery?.isFormerAgent?.(name)))).includes(true)
  const listLinks = (agent: string) => announcedChannels.flatMap(channel => channel.discovery?.links?.(agent) ?? [])
  const gatewayLinks = announcedChannels.flatMap(channel => channel.discovery?.gatewayLinks ?? [])
  const formatDirectory = createDirectoryFormatter(agents, features)
  const publicHeaders = { 'access-control-allow-origin': '*', 'cache-control': 'public, max-age=300' }
  return new Hono()
    .get('/.well-known/webfinger', async context => {
      const resources = context.req.queries('resource') ?? []
      const rels = context.req.queries('rel')
      const name = readAgentName(resources, agents) ?? ''
      if (await isFormerAgent(name)) return answerGone()
      const gatewayAccount = agents.find(name)
        ? undefined
        : describeGatewayAccount(resources[0] ?? '', agents, { links: gatewayLinks, rels })
      const jrd = gatewayAccount ?? describeResource(resources, agents, { listLinks, rels })
      return context.body(JSON.stringify(jrd), 200, { ...publicHeaders, 'content-type': 'application/jrd+json' })
    })
    .get('/.well-known/host-meta', context =>
      context.body(renderHostMeta(agents.origin), 200, { ...publicHeaders, 'content-type': 'application/xrd+xml' }),
    )
    .get('/.well-known/agent-card/:agent', context => {
      return context.json(
        describeAgentCard(requireAgent(agents, context.req.param('agent')), agents, features),
        200,
        publicHeaders,
      )
    })
    .get('/.well-known/mentionable-agents.json', context =>
      context.body(formatDirectory(), 200, { ...publicHeaders, 'content-type': 'application/json' }),
    )
    .get('/agents/:agent', async context => {
      if (await isFormerAgent(context.req.param('agent').toLowerCase())) return answerGone()
      const agent = requireAgent(agents, context.req.param('agent'))
      const [publicProfile] = await Promise.all(
        channels.flatMap(channel => channel.discovery?.readProfile?.(agent.name) ?? []),
      )
      const page = renderProfilePage(agent, { agents, channels, publicProfile })
      return context.html(page, 200, createProfilePageHeaders(agent))
    })
    .get('/agents/:agent/icon/:file', context => {
      const icon = agents.findIcon(context.req.param('agent'))
      if (icon?.fileName !== context.req.param('file')) throw new Rejection('no_recipient', 'Cannot find picture')
      return context.body(icon.bytes, 200, {
        'access-control-allow-origin': '*',
        'cache-control': 'public, max-age=31536000, immutable',
        'content-type': icon.mediaType,
        'x-content-type-options': 'nosniff',
      })
    })
    .get(faviconPath, context => context.body(favicon, 200, { ...publicHeaders, 'content-type': 'image/svg+xml' }))
    .get('/favicon.ico', context => context.redirect(faviconPath, 301))
    .get('/', context => context.redirect(`/agents/${agents.defaultAgent ?? agents.list()[0]?.name ?? ''}`))
}

/** Creates the function that formats the directory. It formats the agents again only when the list changes, because a gateway may have very many agents. */
function createDirectoryFormatter(agents: AgentDirectory, features: AnnouncedFeatures): () => string {
  const textsByAgents = new WeakMap<readonly AgentProfile[], string>()
  return () => {
    const profiles = agents.list()
    const text = textsByAgents.get(profiles) ?? JSON.stringify(describeDirectory(profiles, agents, features))
    textsByAgents.set(profiles, text)
    return text
  }
}

function answerGone(): Response {
  return writeProblem(410, { detail: 'The agent of this name has been removed' })
}

function requireAgent(agents: AgentDirectory, name: string) {
  const agent = agents.find(name.toLowerCase())
  if (!agent) throw new Rejection('no_recipient', 'Cannot find agent: there is no agent of this name here')
  return agent
}
