// Renders the HTML page of a public post with its thread, and the page for a missing post.
import type { PageMarkup } from '@postern/http'
import { renderHtmlPage } from '@postern/http'
import type { AgentProfile, LookupStore, ResponseContext } from '@postern/pipeline'
import { html } from 'hono/html'
import type { IsBlocked } from '../domains/blocklist.ts'
import { findWebUrl } from '../format/iri.ts'
import { postIri } from '../format/own-iris.ts'
import type { OwnPostView } from '../posts/posts.ts'
import { formatPieceIri } from '../posts/render-post.ts'
import { describeOwnPost, describePeerPost } from './describe-card.ts'
import type { Author, PostCard } from './render-card.ts'
import { describePost, renderCard } from './render-card.ts'

/** A public post and its position in the thread. */
interface PostView {
  readonly post: PostCard
  readonly siteName: string
  /** The post that this post answers. Absent if the gateway has not stored that post. */
  readonly parent?: PostCard | undefined
  /** The address of the post that this post answers, if only the address is known. */
  readonly parentUrl?: string | undefined
  /** The address of the next post, if one answer is several posts. */
  readonly nextUrl?: string | undefined
  readonly replies: readonly { readonly post: PostCard; readonly answerUrl?: string | undefined }[]
  readonly isIndexable: boolean
}

export function renderPostPage(view: PostView): PageMarkup {
  const { post, siteName, parent, parentUrl, nextUrl: next, replies, isIndexable } = view
  const { author, url = '' } = post
  return renderHtmlPage({
    title: `${author.name}: ${describePost(post).slice(0, 80).toWellFormed()}`,
    icon: author.icon,
    isIndexable,
    head: html`<link rel="alternate" type="application/activity+json" href="${url}">
<link rel="canonical" href="${url}">
${renderPostPreview(post, siteName)}`,
    body: html`${parent ? renderParent(parent) : parentUrl ? renderParentLink(parentUrl) : ''}
${renderCard(post, 'focus')}
${next ? html`<p class="meta next"><a href="${next}">Continued in the next post</a></p>` : ''}
${replies.length > 0 ? html`<h2>Replies</h2>${replies.map(renderReply)}` : ''}
${renderFooter(author)}`,
  })
}

function renderParent(post: PostCard): PageMarkup {
  return html`<h2>In reply to</h2>${renderCard(post, 'near')}<h2>Answer</h2>`
}

function renderParentLink(parentUrl: string): PageMarkup {
  return html`<p class="meta">In reply to <a rel="nofollow noopener noreferrer" href="${parentUrl}">${parentUrl}</a></p>`
}

function renderReply({ post, answerUrl: answer }: PostView['replies'][number]): PageMarkup {
  const link = answer ? html`<p class="meta"><a href="${answer}">The answer to this</a></p>` : ''
  return html`${renderCard(post, 'near')}${link}`
}

function renderFooter({ name, handle, url }: Author): PageMarkup {
  return html`<footer><a href="${url ?? ''}">${name}</a> is an automated agent. To answer, open this post on your own fediverse server: paste its address into the search there. Or mention <code>${handle}</code>.</footer>`
}

/** Renders the page for an address without a visible post, regardless of the reason. */
export function renderMissingPage(isGone: boolean): PageMarkup {
  const message = isGone ? 'This was here, and was taken back.' : 'There is no post for everybody at this address.'
  return renderHtmlPage({
    title: isGone ? 'Gone' : 'Nothing is here',
    body: html`<h1>${isGone ? 'Gone' : 'Nothing is here'}</h1><p class="bio">${message}</p>`,
  })
}

/** Renders the metadata with which other programs preview a link to the post (Open Graph protocol). Text behind a warning is left out. */
function renderPostPreview(card: PostCard, siteName: string): PageMarkup {
  const { author, url, publishedAt, media, warning } = card
  const picture = warning === undefined ? media.find(({ mediaType }) => mediaType.startsWith('image/'))?.url : undefined
  const image = picture ?? author.icon
  return html`<meta property="og:type" content="article">
<meta property="og:site_name" content="${siteName}">
<meta property="og:title" content="${author.name} (${author.handle})">
<meta property="og:description" content="${describePost(card)}">
<meta name="description" content="${describePost(card)}">
${url ? html`<meta property="og:url" content="${url}">` : ''}
${image ? html`<meta property="og:image" content="${image}">` : ''}
<meta property="article:published_time" content="${publishedAt}">
<meta name="twitter:card" content="${picture ? 'summary_large_image' : 'summary'}">`
}

export interface PageDeps {
  readonly store: Pick<LookupStore, 'readResponseContext'>
  readonly isBlocked: IsBlocked
  readonly domain: string
  readonly origin: string
}

const maxReplies = 50

/** Collects a post with its public neighbours in the thread. */
export async function collectPostView(post: OwnPostView, profile: AgentProfile, deps: PageDeps): Promise<PostView> {
  const { publishedResponse, visibility } = post
  const { response, rendering, piece = 0 } = publishedResponse
  const { domain, origin, isBlocked } = deps
  const postIris = [formatPieceIri(publishedResponse, piece)]
  const context = await deps.store.readResponseContext(response.id, { names: postIris, limit: maxReplies })
  const parent = piece === 0 && context.answered ? describePeerPost(context.answered, isBlocked) : undefined
  return {
    post: describeOwnPost(publishedResponse, { profile, domain, origin }),
    siteName: domain,
    parent,
    parentUrl: piece > 0 ? formatPieceIri(publishedResponse, piece - 1) : findParentUrl(post, isBlocked),
    nextUrl: piece + 1 < rendering.pieces ? formatPieceIri(publishedResponse, piece + 1) : undefined,
    replies: listReplies(context, profile.name, deps),
    isIndexable: visibility === 'public' && profile.isIndexable === true,
  }
}

function findParentUrl({ publishedResponse: { rendering } }: OwnPostView, isBlocked: IsBlocked): string | undefined {
  const parentUrl = findWebUrl(rendering.reply?.object)
  return parentUrl && !isBlocked(new URL(parentUrl).hostname) ? parentUrl : undefined
}

function listReplies(
  { replies }: ResponseContext,
  agent: string,
  { isBlocked, origin }: PageDeps,
): PostView['replies'] {
  return replies.flatMap(reply => {
    const post = describePeerPost(reply, isBlocked)
    return post ? [{ post, ...(reply.response && { answerUrl: postIri(origin, agent, reply.response) }) }] : []
  })
}

/** Renders an agent's recent posts under a tag. */
export function renderTagPage(tag: string, author: Author, posts: readonly PostCard[]): PageMarkup {
  const { name, handle, url, icon } = author
  return renderHtmlPage({
    title: `#${tag} · ${name} (${handle})`,
    icon,
    body: html`<h1>#${tag}</h1>
<p class="meta bio">Recent posts of <a href="${url ?? ''}">${name}</a> under this tag</p>
${posts.map(post => renderCard(post, 'listed'))}
<footer>${name} is an automated agent: <code>${handle}</code></footer>`,
  })
}
