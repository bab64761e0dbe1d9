// Registers the HTTP routes of ActivityPub: inboxes, actors, posts, feeds, collections and NodeInfo.
import type { PlainAnswer } from '@postern/http'
import { describeProblem, selectMediaType, toResponse } from '@postern/http'
import type { Json, System } from '@postern/message'
import { Rejection } from '@postern/message'
import type { AdmissionDeps, AgentDirectory, ChannelContext, Inbound, LookupStore } from '@postern/pipeline'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { addActorRoutes, addUnknownAgentRoutes, requireAgent } from './actors/actor-routes.ts'
import type { Collection, CollectionName } from './actors/collections.ts'
import { answerActivity, asksForActivity, chooseAudience, renderActivity } from './actors/negotiation.ts'
import type { ReadAccess } from './actors/read-access.ts'
import { mayRead } from './actors/read-access.ts'
import { addInboxRoutes } from './channel/inbox-routes.ts'
import type { ActivityPubConfig } from './config.ts'
import { agentIris } from './format/own-iris.ts'
import { isReadableByEveryone } from './format/visibility.ts'
import { activityStreams } from './format/vocabulary.ts'
import type { ResolvedInboxRequest } from './inbox/activity-kind.ts'
import type { KeyRing } from './keys/key-generations.ts'
import { formatSecretName } from './keys/key-generations.ts'
import type { RecentPostDeps } from './pages/describe-card.ts'
import { answerPage, serveFeed, servePostPage, serveTagPage } from './pages/page-routes.ts'
import type { PageDeps } from './pages/post-page.ts'
import { renderMissingPage } from './pages/post-page.ts'
import type { OwnPostView, PostsDeps } from './posts/posts.ts'
import { findPost } from './posts/posts.ts'
import type { PublishedResponse } from './posts/render-post.ts'
import { formatPieceIri, renderCreate, renderNote } from './posts/render-post.ts'
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
  readonly pages: PageDeps & RecentPostDeps
  readonly isFormerAgent: IsFormerAgent
  readonly inbound: Inbound<InboxRequest, ResolvedInboxRequest>
}

/** Creates the ActivityPub routes. */
export function createRoutes(deps: RouteDeps): Hono {
  const app = new Hono()
  const renderError = (error: unknown, method: string) =>
    addAcceptSignature(describeProblem(error, deps.system.log), method)
  app.onError((error, context) => toResponse(renderError(error, context.req.method)))
  addTombstones(app, deps)
  addInboxRoutes(app, {
    ...deps,
    renderError: error => renderError(error, 'POST'),
    answerIfFormer: (agent, path) => answerIfFormer(agent, path, deps),
  })
  addActorRoutes(app, deps)
  addPosts(app, deps)
  addFeeds(app, deps)
  addCollections(app, deps)
  addNodeInfo(app, deps)
  return app
}

/** Returns the answer of the inbox at `path` if its agent was removed, or undefined for every other one. */
async function answerIfFormer(
  agent: string,
  path: string,
  { agents, isFormerAgent }: RouteDeps,
): Promise<PlainAnswer | undefined> {
  return (await isFormerAgent(agent))
    ? renderActivity(renderTombstone(agents.origin + path), { status: 410 })
    : undefined
}

/** Answers 410 for a removed agent and everything that it had, besides its inbox. A 410 lets peers forget the agent. After a 404 they would retry. */
function addTombstones(app: Hono, { agents, isFormerAgent }: RouteDeps): void {
  addUnknownAgentRoutes(app, agents, async function answerForFormerAgent(context, next, pathSuffix) {
    // People get the gateway's page from the address of the actor.
    const accept = context.req.header('accept')
    const isProfilePage = pathSuffix === '' && !asksForActivity(accept)
    if (isProfilePage || !(await isFormerAgent(context.req.param('agent') ?? ''))) {
      await next()
      return undefined
    }
    if (pathSuffix === '/posts/*' && wantsPage(accept)) return answerPage(context, renderMissingPage(true), 410)
    return answerActivity(
      context,
      renderTombstone(agents.origin + context.req.path, pathSuffix === '' ? 'Service' : undefined),
      { status: 410 },
    )
  })
}

function addPosts(app: Hono, deps: RouteDeps): void {
  const { agents, posts, readAccess, store } = deps
  async function requirePost({ req }: Context): Promise<OwnPostView> {
    await readAccess.admit(req.raw)
    const post = await findPost(req.param('agent') ?? '', req.param('id') ?? '', posts)
    if (post && isReadableByEveryone(post.visibility)) return post
    const reader = post && (await readAccess.identifyReader(req.raw))
    if (post && reader && (await mayRead(reader, post, store))) return post
    throw new Rejection('no_recipient', 'Cannot find post: there is none for you here')
  }

  async function servePost(context: Context, render: (answered: PublishedResponse) => Json): Promise<Response> {
    const { publishedResponse, visibility, retractedAt } = await requirePost(context)
    const audience = isReadableByEveryone(visibility) ? chooseAudience(readAccess) : 'signers'
    if (!retractedAt) return answerActivity(context, render(publishedResponse), { audience })
    return answerActivity(
      context,
      renderTombstone(formatPieceIri(publishedResponse, publishedResponse.piece ?? 0), 'Note', retractedAt),
      { audience, status: 410 },
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
  for (const [collectionName, collection] of Object.entries(collections)) {
    app.get(`/agents/:agent/${collectionName}`, async context => {
      const { name } = requireAgent(agents, context.req.param('agent') ?? '')
      await readAccess.admit(context.req.raw)
      const isPage = context.req.query('page') !== undefined
      const document = await (isPage
        ? collection.describePage(name, readPageCursor(context))
        : collection.describe(name))
      return answerActivity(context, document, { audience: chooseAudience(readAccess) })
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

function readPageCursor(context: Context): number | undefined {
  const after = context.req.query('after')
  if (after === undefined) return undefined
  if (!/^\d{1,15}$/.test(after)) throw new Rejection('malformed', 'Cannot read page: "after" is not a number')
  return Number(after)
}

/** Tells clients how to sign if their request has no sufficient signature (RFC 9421 §5.1). */
function addAcceptSignature(problem: PlainAnswer, method: string): PlainAnswer {
  if (problem.status !== 401) return problem
  const coveredComponents = method === 'POST' ? '"@method" "@target-uri" "content-digest"' : '"@method" "@target-uri"'
  return {
    ...problem,
    headers: { ...problem.headers, 'accept-signature': `sig1=(${coveredComponents});created;keyid` },
  }
}

/**
 * Returns true if the response at the address of a post is a page. Browsers accept HTML by name. A request that does not accept HTML, or names no
 * type, gets the document.
 */
function wantsPage(accept: string | undefined): boolean {
  return Boolean(accept?.trim()) && !asksForActivity(accept) && selectMediaType(accept, ['text/html']) !== undefined
}

/** Returns true if an agent of this name existed and was removed, so that peers may still know it. */
type IsFormerAgent = (name: string) => Promise<boolean>

/** Creates the check for removed agents. An agent is a former agent if it once had keys, because peers can know only an agent with keys. */
export function createFormerAgents(
  store: Pick<LookupStore, 'hasSecret'>,
  { origin, find }: Pick<AgentDirectory, 'origin' | 'find'>,
): IsFormerAgent {
  return async name => {
    if (find(name)) return false
    return store.hasSecret(formatSecretName(agentIris(origin, name).actor.slice(origin.length), 'made-at'))
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
