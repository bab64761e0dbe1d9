import type { PageMarkup } from '@postern/http'
import { renderHtmlPage } from '@postern/http'
import { html } from 'hono/html'
import { describePost } from './describe-post.ts'
import { renderPostPreview } from './open-graph.ts'
import type { Author, PostCard } from './post-card.ts'
import { renderCard } from './post-card.ts'

/** A public post and its place in the thread. */
export interface PostView {
  readonly post: PostCard
  readonly siteName: string
  /** The post it answers, where we hold it. */
  readonly answered?: PostCard | undefined
  /** Its address, where only that is known. */
  readonly answers?: string | undefined
  /** The address of what follows, where one answer is several posts. */
  readonly next?: string | undefined
  readonly replies: readonly { readonly post: PostCard; readonly answer?: string | undefined }[]
  readonly isIndexable: boolean
}

export function renderPostPage({
  post,
  siteName,
  answered,
  answers,
  next,
  replies,
  isIndexable,
}: PostView): PageMarkup {
  const { author, url = '' } = post
  return renderHtmlPage({
    title: `${author.name}: ${describePost(post).slice(0, 80).toWellFormed()}`,
    icon: author.icon,
    isIndexable,
    head: html`<link rel="alternate" type="application/activity+json" href="${url}">
<link rel="canonical" href="${url}">
${renderPostPreview(post, siteName)}`,
    body: html`${answered ? renderAnswered(answered) : answers ? renderAnswers(answers) : ''}
${renderCard(post, 'focus')}
${next ? html`<p class="meta next"><a href="${next}">Continued in the next post</a></p>` : ''}
${replies.length > 0 ? html`<h2>Replies</h2>${replies.map(renderReply)}` : ''}
${renderFooter(author)}`,
  })
}

function renderAnswered(post: PostCard): PageMarkup {
  return html`<h2>In reply to</h2>${renderCard(post, 'near')}<h2>Answer</h2>`
}

function renderAnswers(address: string): PageMarkup {
  return html`<p class="meta">In reply to <a rel="nofollow noopener noreferrer" href="${address}">${address}</a></p>`
}

function renderReply({ post, answer }: PostView['replies'][number]): PageMarkup {
  const link = answer ? html`<p class="meta"><a href="${answer}">The answer to this</a></p>` : ''
  return html`${renderCard(post, 'near')}${link}`
}

function renderFooter({ name, handle, url }: Author): PageMarkup {
  return html`<footer><a href="${url ?? ''}">${name}</a> is an automated agent. To answer, open this post on your own fediverse server: paste its address into the search there. Or mention <code>${handle}</code>.</footer>`
}

/** For every address there is nothing behind, whatever the reason. */
export function renderMissingPage(isGone: boolean): PageMarkup {
  const words = isGone ? 'This was here, and was taken back.' : 'There is no post for everybody at this address.'
  return renderHtmlPage({
    title: isGone ? 'Gone' : 'Nothing is here',
    body: html`<h1>${isGone ? 'Gone' : 'Nothing is here'}</h1><p class="bio">${words}</p>`,
  })
}
