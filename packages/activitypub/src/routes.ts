import type { AgentDirectory, AgentProfile, Desk, Inbound, Json, World } from '@postern/core'
import { Rejection, receive } from '@postern/core'
import { acceptsType, peerAddress, toProblem } from '@postern/http'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { renderActor, renderInstanceActor } from './actor.ts'
import type { Outbox } from './collections.ts'
import { renderEmptyCollection } from './collections.ts'
import type { KeyRing } from './keys.ts'
import { nodeInfoType, renderNodeInfo, renderNodeInfoLinks } from './nodeinfo.ts'
import { agentIris, instanceActorIri } from './own-iris.ts'
import type { PostsParts } from './posts.ts'
import { findOpenPost } from './posts.ts'
import { renderCreate, renderNote } from './render.ts'
import type { InboxRequest, VerifiedDelivery } from './verify.ts'
import { activityAccept, activityJson, activityJsonUtf8 } from './vocabulary.ts'

export interface RouteParts {
  readonly agents: AgentDirectory
  readonly desk: Desk
  readonly world: World
  readonly keys: KeyRing
  readonly outbox: Outbox
  readonly posts: PostsParts
  readonly inbound: Inbound<InboxRequest, VerifiedDelivery>
}

/** The ActivityPub routes of `interface.md`. */
export function createRoutes(parts: RouteParts): Hono {
  const app = new Hono()
  app.onError(error => toProblem(error, parts.world.log))
  addInboxes(app, parts)
  addActors(app, parts)
  addPosts(app, parts)
  addCollections(app, parts)
  addNodeInfo(app, parts)
  return app
}

function addInboxes(app: Hono, { desk, world, inbound }: RouteParts): void {
  async function takeDelivery(context: Context, agent?: string): Promise<Response> {
    await receive(inbound, { request: context.req.raw, agent }, { desk, world, from: peerAddress(context.env) })
    return context.body(null, 202)
  }
  app.post('/inbox', context => takeDelivery(context))
  app.post('/agents/:agent/inbox', context => takeDelivery(context, context.req.param('agent')))
  app.all('/inbox', refuseMethod)
  app.all('/agents/:agent/inbox', refuseMethod)
}

function refuseMethod(context: Context): Response {
  return context.json({ title: 'Method Not Allowed', status: 405 }, 405, {
    allow: 'POST',
    'content-type': 'application/problem+json',
  })
}

function addActors(app: Hono, { agents, keys }: RouteParts): void {
  const { origin, domain } = agents
  app.get('/actor', async context =>
    answerActivity(context, renderInstanceActor(domain, await keys.find(instanceActorIri(origin)), origin)),
  )
  app.get('/agents/:agent', async function serveActor(context, next) {
    // People get the gateway's page from the same address.
    if (!asksForActivity(context.req.header('accept'))) {
      await next()
      context.header('vary', 'Accept', { append: true })
      return undefined
    }
    const agent = requireAgent(agents, context.req.param('agent'))
    return answerActivity(context, renderActor(agent, await keys.find(agentIris(origin, agent.name).actor), origin))
  })
}

function addPosts(app: Hono, { posts }: RouteParts): void {
  async function requirePost(context: Context) {
    const found = await findOpenPost(context.req.param('agent') ?? '', context.req.param('id') ?? '', posts)
    if (!found) throw new Rejection('no_recipient', 'Cannot find post: there is none for you here')
    return found
  }
  app.get('/agents/:agent/posts/:id', async context => answerActivity(context, renderNote(await requirePost(context))))
  app.get('/agents/:agent/posts/:id/activity', async context =>
    answerActivity(context, renderCreate(await requirePost(context))),
  )
}

function addCollections(app: Hono, { agents, outbox }: RouteParts): void {
  app.get('/agents/:agent/outbox', async context => {
    const { name } = requireAgent(agents, context.req.param('agent'))
    const isPage = context.req.query('page') !== undefined
    return answerActivity(context, await (isPage ? outbox.page(name, readPlace(context)) : outbox.describe(name)))
  })
  for (const kind of ['followers', 'following', 'featured'] as const) {
    app.get(`/agents/:agent/${kind}`, context => {
      const { name } = requireAgent(agents, context.req.param('agent') ?? '')
      return answerActivity(context, renderEmptyCollection(agentIris(agents.origin, name)[kind]))
    })
  }
}

function addNodeInfo(app: Hono, { agents }: RouteParts): void {
  app.get('/.well-known/nodeinfo', context => context.json(renderNodeInfoLinks(agents.origin) as object))
  app.get('/nodeinfo/2.1', context =>
    context.body(JSON.stringify(renderNodeInfo(agents.list().length)), 200, { 'content-type': nodeInfoType }),
  )
}

function requireAgent(agents: AgentDirectory, name: string): AgentProfile {
  const agent = agents.find(name)
  if (!agent) throw new Rejection('no_recipient', 'Cannot find actor: there is no such agent')
  return agent
}

function readPlace(context: Context): number | undefined {
  const after = context.req.query('after')
  if (after === undefined) return undefined
  if (!/^\d{1,15}$/.test(after)) throw new Rejection('malformed', 'Cannot read page: "after" is not a place')
  return Number(after)
}

/** An AS2 type has to be named: `*\/*` is what people's tools send. */
function asksForActivity(accept: string | undefined): boolean {
  if (!accept || !/(activity|ld)\+json/i.test(accept)) return false
  const [, ldJson = ''] = activityAccept.split(', ')
  return acceptsType(accept, [activityJson, ldJson, 'application/ld+json', 'text/html']) !== 'text/html'
}

function answerActivity(context: Context, document: Json): Response {
  const headers = { 'content-type': activityJsonUtf8, vary: 'Accept', 'cache-control': 'public, max-age=60' }
  return context.body(JSON.stringify(document), 200, headers)
}
