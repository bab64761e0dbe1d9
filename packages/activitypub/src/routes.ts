import type {
  AdmissionDeps,
  AgentDirectory,
  AgentProfile,
  ChannelContext,
  Inbound,
  Json,
  LookupStore,
  Platform,
} from '@postern/core'
import { Rejection, receive } from '@postern/core'
import { acceptsType, peerAddress, problemStatusOf, toProblem } from '@postern/http'
import type { Context } from 'hono'
import { Hono } from 'hono'
import type { Readers } from './actors/actor.ts'
import { mayRead, renderActor, renderInstanceActor, renderInstanceOutbox } from './actors/actor.ts'
import type { Collection, CollectionName } from './actors/collections.ts'
import type { ActivityPubConfig } from './config.ts'
import { activityAccept, activityJson, activityJsonUtf8, activityStreams } from './format/document.ts'
import { agentIris, instanceActorIri, isOpen } from './format/own-posts.ts'
import type { ResolvedDelivery } from './inbox/activity-kind.ts'
import { secretName } from './keys/key-generations.ts'
import type { KeyRing } from './keys/signing.ts'
import type { RecentDeps } from './pages/cards.ts'
import { answerPage, serveFeed, servePostPage, serveTagPage } from './pages/page-routes.ts'
import type { PageDeps } from './pages/post-page.ts'
import { renderMissingPage } from './pages/post-page.ts'
import type { FoundPost, PostsDeps } from './posts/posts.ts'
import { findPost } from './posts/posts.ts'
import type { Answered } from './posts/render.ts'
import { idOfPiece, renderCreate, renderNote } from './posts/render.ts'
import type { InboxRequest } from './verify.ts'

interface RouteDeps {
  readonly agents: AgentDirectory
  readonly store: ChannelContext['store']
  readonly admission: AdmissionDeps
  readonly platform: Platform
  readonly keys: KeyRing
  readonly follows: ActivityPubConfig['follows']
  readonly collections: Readonly<Record<CollectionName, Collection>>
  readonly posts: PostsDeps
  readonly readers: Readers
  readonly pages: PageDeps & RecentDeps
  readonly isFormerAgent: IsFormerAgent
  readonly inbound: Inbound<InboxRequest, ResolvedDelivery>
}

/** The ActivityPub routes. */
export function createRoutes(parts: RouteDeps): Hono {
  const app = new Hono()
  app.onError((error, context) => withAcceptSignature(toProblem(error, parts.platform.log), context.req.method))
  addTombstones(app, parts)
  addInboxes(app, parts)
  addActors(app, parts)
  addPosts(app, parts)
  addFeeds(app, parts)
  addCollections(app, parts)
  addNodeInfo(app, parts)
  return app
}

/** The paths of an agent; routes of other protocols are beside them. */
const agentPlaces = ['', '/inbox', '/outbox', '/followers', '/following', '/featured', '/feed.atom', '/posts/*']

/** A removed agent is gone with everything it had. A 410 lets peers forget it; after a 404 they would ask again. */
function addTombstones(app: Hono, { agents, isFormerAgent }: RouteDeps): void {
  for (const place of agentPlaces) {
    app.use(`/agents/:agent${place}`, async function answerForFormer(context, next) {
      const { path } = context.req
      // People get the gateway's page from the address of the actor.
      const accept = context.req.header('accept')
      const isProfile = place === '' && !asksForActivity(accept)
      if (isProfile || !(await isFormerAgent(context.req.param('agent') ?? ''))) return next()
      if (place === '/posts/*' && wantsPage(accept)) return answerPage(context, renderMissingPage(true), 410)
      return answerGone(context, renderTombstone(agents.origin + path, place === '' ? 'Service' : undefined))
    })
  }
}

function addInboxes(app: Hono, { admission, store, platform, inbound }: RouteDeps): void {
  async function takeDelivery(context: Context, agent?: string): Promise<Response> {
    await receive(
      inbound,
      { request: context.req.raw, agent },
      {
        admission,
        store,
        platform,
        from: peerAddress(context.env),
        endpoint: agent === undefined ? 'POST /inbox' : 'POST /agents/:agent/inbox',
        statusOf: problemStatusOf,
        request: context.req.raw,
      },
    )
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

function addActors(app: Hono, { agents, keys, readers, follows }: RouteDeps): void {
  const { origin, domain } = agents
  app.get('/actor', async context =>
    answerActivity(context, renderInstanceActor(domain, await keys.find(instanceActorIri(origin)), origin)),
  )
  app.get('/actor/outbox', context => answerActivity(context, renderInstanceOutbox(origin)))
  app.get('/agents/:agent', async function serveActor(context, next) {
    // People get the gateway's page from the same address.
    if (!asksForActivity(context.req.header('accept'))) {
      await next()
      context.header('vary', 'Accept', { append: true })
      return undefined
    }
    const agent = requireAgent(agents, context.req.param('agent'))
    await readers.admit(context.req.raw)
    const document = renderActor(agent, await keys.find(agentIris(origin, agent.name).actor), { origin, follows })
    return answerActivity(context, document, audienceOf(readers))
  })
}

function addPosts(app: Hono, parts: RouteDeps): void {
  const { agents, posts, readers, store } = parts
  async function requirePost({ req }: Context): Promise<FoundPost> {
    await readers.admit(req.raw)
    const found = await findPost(req.param('agent') ?? '', req.param('id') ?? '', posts)
    if (found && isOpen(found.visibility)) return found
    const reader = found && (await readers.identify(req.raw))
    if (found && reader && (await mayRead(reader, found, store))) return found
    throw new Rejection('no_recipient', 'Cannot find post: there is none for you here')
  }

  async function servePost(context: Context, render: (answered: Answered) => Json): Promise<Response> {
    const { answered, visibility, retractedAt } = await requirePost(context)
    const audience = isOpen(visibility) ? audienceOf(readers) : 'signers'
    if (!retractedAt) return answerActivity(context, render(answered), audience)
    return answerGone(context, renderTombstone(idOfPiece(answered, answered.piece ?? 0), 'Note', retractedAt), audience)
  }

  app.get('/agents/:agent/posts/:id', context =>
    wantsPage(context.req.header('accept'))
      ? servePostPage(context, agents.find(context.req.param('agent')), parts)
      : servePost(context, renderNote),
  )
  app.get('/agents/:agent/posts/:id/activity', context => servePost(context, renderCreate))
}

function addFeeds(app: Hono, parts: RouteDeps): void {
  app.get('/agents/:agent/feed.atom', context =>
    serveFeed(context, parts.agents.find(context.req.param('agent')), parts),
  )
  app.get('/agents/:agent/tags/:tag', context =>
    serveTagPage(context, parts.agents.find(context.req.param('agent')), parts),
  )
}

function addCollections(app: Hono, { agents, collections, readers }: RouteDeps): void {
  for (const [kind, collection] of Object.entries(collections)) {
    app.get(`/agents/:agent/${kind}`, async context => {
      const { name } = requireAgent(agents, context.req.param('agent') ?? '')
      await readers.admit(context.req.raw)
      const isPage = context.req.query('page') !== undefined
      const document = await (isPage ? collection.page(name, readPlace(context)) : collection.describe(name))
      return answerActivity(context, document, audienceOf(readers))
    })
  }
}

function addNodeInfo(app: Hono, { agents }: RouteDeps): void {
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

type Audience = 'everybody' | 'signers'

function audienceOf({ isSignedOnly }: Readers): Audience {
  return isSignedOnly ? 'signers' : 'everybody'
}

/** A document that depends on the signature must not reach the next reader from a cache. */
const audienceHeaders: Readonly<Record<Audience, Readonly<Record<string, string>>>> = {
  everybody: { vary: 'Accept', 'cache-control': 'public, max-age=60' },
  signers: { vary: 'Accept, Signature, Signature-Input', 'cache-control': 'private, no-store' },
}

function answerActivity(context: Context, document: Json, audience: Audience = 'everybody'): Response {
  const headers = { 'content-type': activityJsonUtf8, ...audienceHeaders[audience] }
  return context.body(JSON.stringify(document), 200, headers)
}

function answerGone(context: Context, tombstone: Json, audience: Audience = 'everybody'): Response {
  return context.body(JSON.stringify(tombstone), 410, {
    'content-type': activityJsonUtf8,
    ...audienceHeaders[audience],
  })
}

/** How to sign, for those who did not or not well enough (RFC 9421 §5.1). */
function withAcceptSignature(problem: Response, method: string): Response {
  if (problem.status !== 401) return problem
  const covered = method === 'POST' ? '"@method" "@target-uri" "content-digest"' : '"@method" "@target-uri"'
  problem.headers.set('accept-signature', `sig1=(${covered});created;keyid`)
  return problem
}

const [, ldJson = ''] = activityAccept.split(', ')
const activityTypes = [activityJson, ldJson, 'application/ld+json', 'text/html']

/**
 * Whether a request asks for a document of the network: it names such a type, and prefers it to HTML or likes it as
 * much (RFC 9110 §12.5.1).
 */
function asksForActivity(accept: string | undefined): boolean {
  if (!accept || !/(activity|ld)\+json/i.test(accept)) return false
  return acceptsType(accept, activityTypes) !== 'text/html'
}

/**
 * Whether a page is the answer at the address of a post. Browsers name HTML. A request that does not accept HTML, or
 * names nothing, gets the document.
 */
function wantsPage(accept: string | undefined): boolean {
  return Boolean(accept?.trim()) && !asksForActivity(accept) && acceptsType(accept, ['text/html']) !== undefined
}

/** Whether an agent of this name existed and is gone; peers may still know it. */
type IsFormerAgent = (name: string) => Promise<boolean>

/** An agent that had keys was known, or could have been; one that never was has none. */
export function createFormerAgents(
  store: Pick<LookupStore, 'hasSecret'>,
  { origin, find }: Pick<AgentDirectory, 'origin' | 'find'>,
): IsFormerAgent {
  return async name => {
    if (find(name)) return false
    return store.hasSecret(secretName(agentIris(origin, name).actor.slice(origin.length), 'made-at'))
  }
}

const schema = 'http://nodeinfo.diaspora.software/ns/schema/2.1'

const nodeInfoType = `application/json; profile="${schema}#"`

/** Where the description is (NodeInfo 2.1, discovery). */
function renderNodeInfoLinks(origin: string): Json {
  return { links: [{ rel: schema, href: `${origin}/nodeinfo/2.1` }] }
}

/** A description of this program. Agents are its users. */
function renderNodeInfo(agentCount: number): Json {
  return {
    version: '2.1',
    software: { name: 'postern', version: '0.1.0' },
    protocols: ['activitypub'],
    services: { inbound: [], outbound: [] },
    openRegistrations: false,
    usage: { users: { total: agentCount } },
    metadata: {},
  }
}

/**
 * The substitute for a deleted object (AS2 Tombstone, ActivityPub §6.4); peers forget their copy of it. `deleted`: ISO
 * 8601 UTC.
 */
function renderTombstone(id: string, formerType?: string, deleted?: string): Json {
  return {
    '@context': activityStreams,
    id,
    type: 'Tombstone',
    ...(formerType && { formerType }),
    ...(deleted && { deleted }),
  }
}
