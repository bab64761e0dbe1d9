// Registers the HTTP routes of ActivityPub: inboxes, actors, posts, feeds, collections and NodeInfo.
import { acceptsType, toProblem } from '@postern/http'
import type { Json, System } from '@postern/message'
import { Rejection } from '@postern/message'
import type { AdmissionDeps, AgentDirectory, ChannelContext, Inbound, LookupStore } from '@postern/pipeline'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { addActors, addUnknownAgents, requireAgent } from './actors/actor-routes.ts'
import type { Collection, CollectionName } from './actors/collections.ts'
import { answerActivity, asksForActivity, audienceOf } from './actors/negotiation.ts'
import type { ReadAccess } from './actors/read-access.ts'
import { mayRead } from './actors/read-access.ts'
import { addInboxes } from './channel/inbox-routes.ts'
import type { ActivityPubConfig } from './config.ts'
import { agentIris } from './format/own-iris.ts'
import { isOpen } from './format/visibility.ts'
import { activityStreams } from './format/vocabulary.ts'
import type { ResolvedInboxRequest } from './inbox/activity-kind.ts'
import type { KeyRing } from './keys/key-generations.ts'
import { secretName } from './keys/key-generations.ts'
import type { RecentDeps } from './pages/describe-card.ts'
import { answerPage, serveFeed, servePostPage, serveTagPage } from './pages/page-routes.ts'
import type { PageDeps } from './pages/post-page.ts'
import { renderMissingPage } from './pages/post-page.ts'
import type { FoundPost, PostsDeps } from './posts/posts.ts'
import { findPost } from './posts/posts.ts'
import type { PublishedResponse } from './posts/render-post.ts'
import { idOfPiece, renderCreate, renderNote } from './posts/render-post.ts'
import type { InboxRequest } from './verify.ts'

interface RouteDeps {
  readonly agents: AgentDirectory
  readonly store: ChannelContext['store']
  readonly admission: AdmissionDeps
  readonly system: System
  readonly keys: KeyRing
  readonly follows: ActivityPubConfig['follows']
  readonly collections: Readonly<Record<CollectionName, Collection>>
  readonly posts: PostsDeps
  readonly readAccess: ReadAccess
  readonly pages: PageDeps & RecentDeps
  readonly isFormerAgent: IsFormerAgent
  readonly inbound: Inbound<InboxRequest, ResolvedInboxRequest>
}

/** Creates the ActivityPub routes. */
export function createRoutes(deps: RouteDeps): Hono {
  const app = new Hono()
  app.onError((error, context) => addAcceptSignature(toProblem(error, deps.system.log), context.req.method))
  addTombstones(app, deps)
  addInboxes(app, deps)
  addActors(app, deps)
  addPosts(app, deps)
  addFeeds(app, deps)
  addCollections(app, deps)
  addNodeInfo(app, deps)
  return app
}

/** Answers 410 for a removed agent and everything that it had. A 410 lets peers forget the agent. After a 404 they would retry. */
function addTombstones(app: Hono, { agents, isFormerAgent }: RouteDeps): void {
  addUnknownAgents(app, agents, async function answerForFormer(context, next, path) {
    // People get the gateway's page from the address of the actor.
    const accept = context.req.header('accept')
    const isProfile = path === '' && !asksForActivity(accept)
    if (isProfile || !(await isFormerAgent(context.req.param('agent') ?? ''))) {
      await next()
      return undefined
    }
    if (path === '/posts/*' && wantsPage(accept)) return answerPage(context, renderMissingPage(true), 410)
    return answerActivity(
      context,
      renderTombstone(agents.origin + context.req.path, path === '' ? 'Service' : undefined),
      'everybody',
      410,
    )
  })
}

function addPosts(app: Hono, deps: RouteDeps): void {
  const { agents, posts, readAccess, store } = deps
  async function requirePost({ req }: Context): Promise<FoundPost> {
    await readAccess.admit(req.raw)
    const post = await findPost(req.param('agent') ?? '', req.param('id') ?? '', posts)
    if (post && isOpen(post.visibility)) return post
    const reader = post && (await readAccess.identify(req.raw))
    if (post && reader && (await mayRead(reader, post, store))) return post
    throw new Rejection('no_recipient', 'Cannot find post: there is none for you here')
  }

  async function servePost(context: Context, render: (answered: PublishedResponse) => Json): Promise<Response> {
    const { publishedResponse, visibility, retractedAt } = await requirePost(context)
    const audience = isOpen(visibility) ? audienceOf(readAccess) : 'signers'
    if (!retractedAt) return answerActivity(context, render(publishedResponse), audience)
    return answerActivity(
      context,
      renderTombstone(idOfPiece(publishedResponse, publishedResponse.piece ?? 0), 'Note', retractedAt),
      audience,
      410,
    )
  }

  app.get('/agents/:agent/posts/:id', context =>
    wantsPage(context.req.header('accept'))
      ? servePostPage(context, agents.find(context.req.param('agent')), deps)
      : servePost(context, renderNote),
  )
  app.get('/agents/:agent/posts/:id/activity', context => servePost(context, renderCreate))
}

function addFeeds(app: Hono, deps: RouteDeps): void {
  app.get('/agents/:agent/feed.atom', context => serveFeed(context, deps.agents.find(context.req.param('agent')), deps))
  app.get('/agents/:agent/tags/:tag', context =>
    serveTagPage(context, deps.agents.find(context.req.param('agent')), deps),
  )
}

function addCollections(app: Hono, { agents, collections, readAccess }: RouteDeps): void {
  for (const [kind, collection] of Object.entries(collections)) {
    app.get(`/agents/:agent/${kind}`, async context => {
      const { name } = requireAgent(agents, context.req.param('agent') ?? '')
      await readAccess.admit(context.req.raw)
      const isPage = context.req.query('page') !== undefined
      const document = await (isPage ? collection.page(name, readPosition(context)) : collection.describe(name))
      return answerActivity(context, document, audienceOf(readAccess))
    })
  }
}

function addNodeInfo(app: Hono, { agents }: RouteDeps): void {
  // The discovery document leads to the description (NodeInfo 2.1).
  const links = [{ rel: nodeInfoSchema, href: `${agents.origin}/nodeinfo/2.1` }]
  app.get('/.well-known/nodeinfo', context => context.json({ links }))
  app.get('/nodeinfo/2.1', context =>
    context.body(JSON.stringify(renderNodeInfo(agents.list().length)), 200, { 'content-type': nodeInfoType }),
  )
}

function readPosition(context: Context): number | undefined {
  const after = context.req.query('after')
  if (after === undefined) return undefined
  if (!/^\d{1,15}$/.test(after)) throw new Rejection('malformed', 'Cannot read page: "after" is not a number')
  return Number(after)
}

/** Tells clients how to sign if their request has no sufficient signature (RFC 9421 §5.1). */
function addAcceptSignature(problem: Response, method: string): Response {
  if (problem.status !== 401) return problem
  const coveredComponents = method === 'POST' ? '"@method" "@target-uri" "content-digest"' : '"@method" "@target-uri"'
  problem.headers.set('accept-signature', `sig1=(${coveredComponents});created;keyid`)
  return problem
}

/**
 * Returns true if the response at the address of a post is a page. Browsers accept HTML by name. A request that does not accept HTML, or names no
 * type, gets the document.
 */
function wantsPage(accept: string | undefined): boolean {
  return Boolean(accept?.trim()) && !asksForActivity(accept) && acceptsType(accept, ['text/html']) !== undefined
}

/** Returns true if an agent of this name existed and was removed, so that peers may still know it. */
type IsFormerAgent = (name: string) => Promise<boolean>

/** Creates the check for removed agents. An agent that had keys was known to peers, or could have been. An agent that never was known has no keys. */
export function createFormerAgents(
  store: Pick<LookupStore, 'hasSecret'>,
  { origin, find }: Pick<AgentDirectory, 'origin' | 'find'>,
): IsFormerAgent {
  return async name => {
    if (find(name)) return false
    return store.hasSecret(secretName(agentIris(origin, name).actor.slice(origin.length), 'made-at'))
  }
}

const nodeInfoSchema = 'http://nodeinfo.diaspora.software/ns/schema/2.1'

const nodeInfoType = `application/json; profile="${nodeInfoSchema}#"`

/** Renders a description of this program. Agents are its users. */
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

/** Renders the substitute for a deleted object (AS2 Tombstone, ActivityPub §6.4), which makes peers delete their copy. `deleted` is ISO 8601 UTC. */
function renderTombstone(id: string, formerType?: string, deleted?: string): Json {
  return {
    '@context': activityStreams,
    id,
    type: 'Tombstone',
    ...(formerType && { formerType }),
    ...(deleted && { deleted }),
  }
}
