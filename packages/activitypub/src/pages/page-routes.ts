import type { AgentProfile, Platform } from '@postern/core'
import { isoTime, Rejection } from '@postern/core'
import type { PageMarkup } from '@postern/http'
import { htmlPageHeaders } from '@postern/http'
import type { Context } from 'hono'
import type { Readers } from '../actors/readers.ts'
import { isOpen } from '../format/visibility.ts'
import type { PostsDeps } from '../posts/posts.ts'
import { findPost } from '../posts/posts.ts'
import { tagKey } from '../words/words-called.ts'
import { feedType, renderFeed } from './feed.ts'
import { describeAgent } from './own-card.ts'
import { renderMissingPage, renderPostPage } from './post-page.ts'
import type { PageDeps } from './post-view.ts'
import { viewPost } from './post-view.ts'
import type { RecentDeps } from './recent-posts.ts'
import { listRecentPosts } from './recent-posts.ts'
import { renderTagPage } from './tag-page.ts'

interface PageRouteDeps {
  readonly posts: PostsDeps
  readonly pages: PageDeps & RecentDeps
  readonly readers: Readers
  readonly platform: Pick<Platform, 'now'>
}

/** The content of an agent's feed. */
const feedLength = 20
const searchedForTag = 100
const forEverybody = { vary: 'Accept', 'cache-control': 'public, max-age=60' } as const
const feedHeaders = {
  'content-type': `${feedType}; charset=utf-8`,
  'cache-control': forEverybody['cache-control'],
} as const

/**
 * Answers a browser at a post's address. A post that is not public does not exist for any browser.
 * @throws Rejection, Unavailable
 */
export async function servePostPage(
  context: Context,
  agent: AgentProfile | undefined,
  { posts, pages, readers }: PageRouteDeps,
): Promise<Response> {
  await readers.admit(context.req.raw)
  const found = agent && (await findPost(agent.name, context.req.param('id') ?? '', posts))
  if (!agent || !found || !isOpen(found.visibility)) return answerPage(context, renderMissingPage(false), 404)
  if (found.retractedAt !== undefined) return answerPage(context, renderMissingPage(true), 410)
  const view = await viewPost(found, agent, pages)
  context.header('link', `<${view.post.url}>; rel="alternate"; type="application/activity+json"`)
  return answerPage(context, renderPostPage(view), 200, agent.iconUrl)
}

/** The posts under a tag, of the last hundred. @throws Rejection, Unavailable */
export async function serveTagPage(
  context: Context,
  agent: AgentProfile | undefined,
  { pages, readers }: PageRouteDeps,
): Promise<Response> {
  await readers.admit(context.req.raw)
  const key = tagKey(context.req.param('tag') ?? '')
  const recent = agent ? await listRecentPosts(agent, searchedForTag, pages) : []
  const posts = recent.filter(({ tags }) => tags.some(tag => tagKey(tag) === key))
  if (!agent || posts.length === 0) return answerPage(context, renderMissingPage(false), 404)
  const { domain, origin } = pages
  const page = renderTagPage(key, describeAgent({ profile: agent, domain, origin }), posts.slice(0, feedLength))
  return answerPage(context, page, 200, agent.iconUrl)
}

export function answerPage(
  context: Context,
  page: PageMarkup,
  status: 200 | 404 | 410,
  icon?: string,
): Response | Promise<Response> {
  return context.html(page, status, { ...htmlPageHeaders([icon]), ...forEverybody })
}

/** @throws Rejection `no_recipient`, and as `Readers.admit` */
export async function serveFeed(
  context: Context,
  agent: AgentProfile | undefined,
  { pages, readers, platform }: PageRouteDeps,
): Promise<Response> {
  if (!agent) throw new Rejection('no_recipient', 'Cannot find feed: there is no such agent')
  await readers.admit(context.req.raw)
  const listed = await listRecentPosts(agent, feedLength, pages)
  const { domain, origin } = pages
  return context.body(renderFeed({ profile: agent, domain, origin }, listed, isoTime(platform.now())), 200, feedHeaders)
}
