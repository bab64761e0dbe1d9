// Serves the public posts of an agent to browsers and feed readers: post pages, tag pages and an Atom feed.
import type { PageMarkup } from '@postern/http'
import { htmlPageHeaders } from '@postern/http'
import type { System } from '@postern/message'
import { escapeHtml, isoTime, Rejection } from '@postern/message'
import type { AgentProfile } from '@postern/pipeline'
import type { Context } from 'hono'
import type { ReadAccess } from '../actors/read-access.ts'
import { isReadableByEveryone } from '../format/visibility.ts'
import type { PostsDeps } from '../posts/posts.ts'
import { findPost } from '../posts/posts.ts'
import { toTagKey } from '../text/hashtags.ts'
import type { PageAgent, RecentPostDeps } from './describe-card.ts'
import { describeAgent, listRecentPosts } from './describe-card.ts'
import type { PageDeps } from './post-page.ts'
import { collectPostView, renderMissingPage, renderPostPage, renderTagPage } from './post-page.ts'
import type { PostCard } from './render-card.ts'
import { describePost } from './render-card.ts'

const feedType = 'application/atom+xml'

export function formatFeedUrl(origin: string, agent: string): string {
  return `${origin}/agents/${agent}/feed.atom`
}

/** Renders an agent's public posts as an Atom feed (RFC 4287). `madeAt` (ISO 8601 UTC) is the date of a feed that has no posts. */
function renderFeed(agent: PageAgent, posts: readonly PostCard[], madeAt: string): string {
  const { name, url = '', icon } = describeAgent(agent)
  const feedAddress = formatFeedUrl(agent.origin, agent.profile.name)
  const updatedAt = posts.map(findChangeTime).sort().at(-1) ?? madeAt
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<id>${escapeXml(url)}</id>
<title>${escapeXml(name)}</title>
<subtitle>${escapeXml(agent.profile.description)}</subtitle>
<updated>${escapeXml(updatedAt)}</updated>
<author><name>${escapeXml(name)}</name><uri>${escapeXml(url)}</uri></author>
<link rel="self" type="${feedType}" href="${escapeXml(feedAddress)}"/>
<link rel="alternate" type="text/html" href="${escapeXml(url)}"/>
${icon ? `<logo>${escapeXml(icon)}</logo>\n` : ''}${posts.map(renderEntry).join('')}</feed>
`
}

function renderEntry(post: PostCard): string {
  const { url = '', publishedAt, language, contentHtml, warning } = post
  const content = warning === undefined ? contentHtml : `<p>${escapeHtml(warning)}</p>${contentHtml}`
  return `<entry${language ? ` xml:lang="${escapeXml(language)}"` : ''}>
<id>${escapeXml(url)}</id>
<title>${escapeXml(describePost(post).slice(0, 80).toWellFormed())}</title>
<published>${escapeXml(publishedAt)}</published>
<updated>${escapeXml(findChangeTime(post))}</updated>
<link rel="alternate" type="text/html" href="${escapeXml(url)}"/>
<content type="html">${escapeXml(content)}</content>
</entry>
`
}

function findChangeTime({ publishedAt, editedAt }: PostCard): string {
  return editedAt ?? publishedAt
}

/** Escapes a text. XML 1.0 forbids most control characters and lone surrogates. */
function escapeXml(value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML forbids (XML 1.0 §2.2)
  return escapeHtml(value.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, ''))
}

interface PageRouteDeps {
  readonly posts: PostsDeps
  readonly pages: PageDeps & RecentPostDeps
  readonly readAccess: ReadAccess
  readonly system: Pick<System, 'now'>
}

/** The number of posts in an agent's feed. */
const maxFeedPosts = 20
const maxSearchedPosts = 100
const publicPageHeaders = { vary: 'Accept', 'cache-control': 'public, max-age=60' } as const
const feedHeaders = {
  'content-type': `${feedType}; charset=utf-8`,
  'cache-control': publicPageHeaders['cache-control'],
} as const

/** Answers a browser at the address of a post. For browsers, a post that is not public does not exist. @throws Rejection, Unavailable */
export async function servePostPage(
  context: Context,
  agent: AgentProfile | undefined,
  { posts, pages, readAccess }: PageRouteDeps,
): Promise<Response> {
  await readAccess.admit(context.req.raw)
  const post = agent && (await findPost(agent.name, context.req.param('id') ?? '', posts))
  if (!agent || !post || !isReadableByEveryone(post.visibility))
    return answerPage(context, renderMissingPage(false), 404)
  if (post.retractedAt !== undefined) return answerPage(context, renderMissingPage(true), 410)
  const view = await collectPostView(post, agent, pages)
  context.header('link', `<${view.post.url}>; rel="alternate"; type="application/activity+json"`)
  return answerPage(context, renderPostPage(view), 200, agent.iconUrl)
}

/** Serves the page of the posts with a tag, out of the last hundred posts. @throws Rejection, Unavailable */
export async function serveTagPage(
  context: Context,
  agent: AgentProfile | undefined,
  { pages, readAccess }: PageRouteDeps,
): Promise<Response> {
  await readAccess.admit(context.req.raw)
  const tagKey = toTagKey(context.req.param('tag') ?? '')
  const recentPosts = agent ? await listRecentPosts(agent, maxSearchedPosts, pages) : []
  const posts = recentPosts.filter(({ tags }) => tags.some(tag => toTagKey(tag) === tagKey))
  if (!agent || posts.length === 0) return answerPage(context, renderMissingPage(false), 404)
  const { domain, origin } = pages
  const page = renderTagPage(tagKey, describeAgent({ profile: agent, domain, origin }), posts.slice(0, maxFeedPosts))
  return answerPage(context, page, 200, agent.iconUrl)
}

export function answerPage(
  context: Context,
  page: PageMarkup,
  status: 200 | 404 | 410,
  icon?: string,
): Response | Promise<Response> {
  return context.html(page, status, { ...htmlPageHeaders([icon]), ...publicPageHeaders })
}

/** Serves the Atom feed of an agent. @throws Rejection `no_recipient`, and like `ReadAccess.admit` */
export async function serveFeed(
  context: Context,
  agent: AgentProfile | undefined,
  { pages, readAccess, system }: PageRouteDeps,
): Promise<Response> {
  if (!agent) throw new Rejection('no_recipient', 'Cannot find feed: there is no such agent')
  await readAccess.admit(context.req.raw)
  const posts = await listRecentPosts(agent, maxFeedPosts, pages)
  const { domain, origin } = pages
  return context.body(renderFeed({ profile: agent, domain, origin }, posts, isoTime(system.now())), 200, feedHeaders)
}
