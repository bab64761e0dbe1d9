import type { AdmissionDeps, AgentDirectory, ChannelContext, Inbound, Json, LookupStore, Platform } from '@postern/core'
import { Rejection } from '@postern/core'
import { acceptsType, toProblem } from '@postern/http'
import type { Context } from 'hono'
import { Hono } from 'hono'
import {
  addActors,
  addUnknownAgents,
  answerActivity,
  asksForActivity,
  audienceOf,
  requireAgent,
} from './actors/actor.ts'
import type { Collection, CollectionName } from './actors/collections.ts'
import type { Readers } from './actors/readers.ts'
import { mayRead } from './actors/readers.ts'
import { addInboxes } from './channel.ts'
import type { ActivityPubConfig } from './config.ts'
import { activityStreams, agentIris, isOpen } from './format/document.ts'
import type { ResolvedDelivery } from './inbox/activity-kind.ts'
import type { KeyRing } from './keys/key-generations.ts'
import { secretName } from './keys/key-generations.ts'
import type { RecentDeps } from './pages/cards.ts'
import { answerPage, serveFeed, servePostPage, serveTagPage } from './pages/page-routes.ts'
import type { PageDeps } from './pages/post-page.ts'
import { renderMissingPage } from './pages/post-page.ts'
import type { Answered } from './posts/answers.ts'
import { idOfPiece, renderCreate, renderNote } from './posts/answers.ts'
import type { FoundPost, PostsDeps } from './posts/posts.ts'
import { findPost } from './posts/posts.ts'
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

/** A removed agent is gone with everything it had. A 410 lets peers forget it; after a 404 they would ask again. */
function addTombstones(app: Hono, { agents, isFormerAgent }: RouteDeps): void {
  addUnknownAgents(app, agents, async function answerForFormer(context, next, place) {
    // People get the gateway's page from the address of the actor.
    const accept = context.req.header('accept')
    const isProfile = place === '' && !asksForActivity(accept)
    if (isProfile || !(await isFormerAgent(context.req.param('agent') ?? ''))) {
      await next()
      return undefined
    }
    if (place === '/posts/*' && wantsPage(accept)) return answerPage(context, renderMissingPage(true), 410)
    return answerActivity(
      context,
      renderTombstone(agents.origin + context.req.path, place === '' ? 'Service' : undefined),
      'everybody',
      410,
    )
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
    return answerActivity(
      context,
      renderTombstone(idOfPiece(answered, answered.piece ?? 0), 'Note', retractedAt),
      audience,
      410,
    )
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
  // Where the description is (NodeInfo 2.1, discovery).
  const links = [{ rel: schema, href: `${agents.origin}/nodeinfo/2.1` }]
  app.get('/.well-known/nodeinfo', context => context.json({ links }))
  app.get('/nodeinfo/2.1', context =>
    context.body(JSON.stringify(renderNodeInfo(agents.list().length)), 200, { 'content-type': nodeInfoType }),
  )
}

function readPlace(context: Context): number | undefined {
  const after = context.req.query('after')
  if (after === undefined) return undefined
  if (!/^\d{1,15}$/.test(after)) throw new Rejection('malformed', 'Cannot read page: "after" is not a place')
  return Number(after)
}

/** How to sign, for those who did not or not well enough (RFC 9421 §5.1). */
function withAcceptSignature(problem: Response, method: string): Response {
  if (problem.status !== 401) return problem
  const covered = method === 'POST' ? '"@method" "@target-uri" "content-digest"' : '"@method" "@target-uri"'
  problem.headers.set('accept-signature', `sig1=(${covered});created;keyid`)
  return problem
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
