// Renders the HTML page of a public post with its thread, and the page for a missing post.
import type { PageMarkup } from '@postern/http'
import { renderHtmlPage } from '@postern/http'
import type { AgentProfile, LookupStore, ResponseContext } from '@postern/pipeline'
import { html } from 'hono/html'
import type { IsBlocked } from '../domains/blocklist.ts'
import { findWebUrl } from '../format/iri.ts'
import { postIri } from '../format/own-iris.ts'
import type { FoundPost } from '../posts/posts.ts'
import { idOfPiece } from '../posts/render-post.ts'
import { describeOwnPost, describePeerPost } from './describe-card.ts'
import type { Author, PostCard } from './render-card.ts'
import { describePost, renderCard } from './render-card.ts'

/** A public post and its position in the thread. */
interface PostView {
  readonly post: PostCard
  readonly siteName: string
  /** The post that it answers. Absent if the gateway has not stored it. */
  readonly parent?: PostCard | undefined
  /** The address of the post that it answers, if only that is known. */
  readonly parentUrl?: string | undefined
  /** The address of the next post, if one answer is several posts. */
  readonly next?: string | undefined
  readonly replies: readonly { readonly post: PostCard; readonly answer?: string | undefined }[]
  readonly isIndexable: boolean
}

export function renderPostPage(view: PostView): PageMarkup {
  const { post, siteName, parent, parentUrl, next, replies, isIndexable } = view
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

function renderParentLink(address: string): PageMarkup {
  return html`<p class="meta">In reply to <a rel="nofollow noopener noreferrer" href="${address}">${address}</a></p>`
}

function renderReply({ post, answer }: PostView['replies'][number]): PageMarkup {
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

/** Collects a post with its neighbours in the thread, as far as they are public. */
export async function viewPost(post: FoundPost, profile: AgentProfile, deps: PageDeps): Promise<PostView> {
  const { publishedResponse, visibility } = post
  const { response, rendering, piece = 0 } = publishedResponse
  const { domain, origin, isBlocked } = deps
  const names = [idOfPiece(publishedResponse, piece)]
  const context = await deps.store.readResponseContext(response.id, { names, limit: maxReplies })
  const parent = piece === 0 && context.answered ? describePeerPost(context.answered, isBlocked) : undefined
  return {
    post: describeOwnPost(publishedResponse, { profile, domain, origin }),
    siteName: domain,
    parent,
    parentUrl: piece > 0 ? idOfPiece(publishedResponse, piece - 1) : findParentUrl(post, isBlocked),
    next: piece + 1 < rendering.pieces ? idOfPiece(publishedResponse, piece + 1) : undefined,
    replies: listReplies(context, profile.name, deps),
    isIndexable: visibility === 'public' && profile.isIndexable === true,
  }
}

function findParentUrl({ publishedResponse: { rendering } }: FoundPost, isBlocked: IsBlocked): string | undefined {
  const address = findWebUrl(rendering.reply?.object)
  return address && !isBlocked(new URL(address).hostname) ? address : undefined
}

function listReplies(
  { replies }: ResponseContext,
  agent: string,
  { isBlocked, origin }: PageDeps,
): PostView['replies'] {
  return replies.flatMap(reply => {
    const post = describePeerPost(reply, isBlocked)
    return post ? [{ post, ...(reply.response && { answer: postIri(origin, agent, reply.response) }) }] : []
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
