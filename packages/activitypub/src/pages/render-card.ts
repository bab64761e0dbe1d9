// Renders a post as an HTML card.
import type { PageMarkup } from '@postern/http'
import { tokenizeHtml } from '@postern/markup/html'
import { lazy } from '@postern/message'
import { html, raw } from 'hono/html'

/** A person whom a page names. */
export interface Author {
  readonly name: string
  /** The address `@user@host`, or an IRI. */
  readonly handle: string
  readonly url: string | undefined
  readonly icon?: string | undefined
}

export interface Media {
  readonly url: string
  readonly mediaType: string
  /** The alternative text of the file. */
  readonly name: string
}

/** A post as a page shows it. */
export interface PostCard {
  readonly author: Author
  readonly url: string | undefined
  /** The time of publication, ISO 8601 UTC. */
  readonly publishedAt: string
  readonly editedAt?: string | undefined
  /** The language, BCP 47. Absent if unknown. */
  readonly language?: string | undefined
  /** The content warning. The text is shown only if the reader asks for it. Absent if there is no warning. */
  readonly warning?: string | undefined
  /** The text as sanitized HTML. */
  readonly contentHtml: string
  /** The tags without `#`. */
  readonly tags: readonly string[]
  readonly media: readonly Media[]
}

/** The longest HTML, in UTF-16 code units, that a list shows in full. A list shows only the beginning of a longer post. */
const maxListedHtmlChars = 6_000

/** Renders a card. `focus` is the post that the page is about, `near` a neighbour in its thread, and `listed` a post in a list. */
export function renderCard(card: PostCard, role: 'focus' | 'near' | 'listed'): PageMarkup {
  const contentMarkup =
    role === 'listed' && card.contentHtml.length > maxListedHtmlChars ? renderBeginning(card) : raw(card.contentHtml)
  const contentBlock = html`<div class="words">${contentMarkup}</div>${card.media.map(renderMedia)}`
  const { warning } = card
  return html`<article class="${role}"${card.language ? html` lang="${card.language}"` : ''}>
${role === 'listed' ? '' : renderAuthor(card.author)}
${warning === undefined ? contentBlock : html`<details><summary>${warning}</summary>${contentBlock}</details>`}
<p class="meta">${renderDate(card)}</p>
</article>`
}

function renderBeginning(card: PostCard): PageMarkup {
  return html`<p>${describePost(card)}</p><p><a href="${card.url ?? ''}">Read on</a></p>`
}

function renderAuthor({ name, handle, url, icon }: Author): PageMarkup {
  const authorName = html`<strong>${name}</strong><span class="handle">${handle}</span>`
  return html`<div class="who small">${icon ? html`<img src="${icon}" alt="" width="40" height="40">` : ''}<div>${
    url
      ? html`<a rel="nofollow noopener noreferrer" href="${url}"><strong>${name}</strong></a><span class="handle">${handle}</span>`
      : authorName
  }</div></div>`
}

function renderDate({ url, publishedAt, editedAt }: PostCard): PageMarkup {
  const date = renderTime(publishedAt)
  const editedNote = editedAt ? html` · edited ${renderTime(editedAt)}` : ''
  return html`${url ? html`<a rel="nofollow noopener noreferrer" href="${url}">${date}</a>` : date}${editedNote}`
}

const dateFormat = lazy(
  () => new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }),
)

function renderTime(iso: string): PageMarkup {
  return html`<time datetime="${iso}">${dateFormat().format(new Date(iso))} UTC</time>`
}

const mediaRenderers: Readonly<Record<string, (media: Media) => PageMarkup>> = {
  image: ({ url, name }) => html`<img class="media" src="${url}" alt="${name}" loading="lazy">`,
  video: ({ url, name }) => html`<video controls preload="metadata" src="${url}" aria-label="${name}"></video>`,
  audio: ({ url, name }) => html`<audio controls preload="none" src="${url}" aria-label="${name}"></audio>`,
}

function renderMedia(media: Media): PageMarkup {
  const render = mediaRenderers[media.mediaType.split('/')[0] ?? '']
  return render ? render(media) : html``
}

/** The number of UTF-16 code units that previews show. */
const maxDescriptionChars = 280
/** The most UTF-16 code units of HTML that are read for the description. */
const maxReadHtmlChars = 4_000
/** The inline elements, at which a word does not end. */
const inlineElements: ReadonlySet<string> = new Set('a span strong b em i u del s code'.split(' '))

/** Describes a post in one line of plain text, without the URLs of its links. `contentHtml` is sanitized. */
export function describePost({
  contentHtml,
  warning,
}: {
  readonly contentHtml: string
  readonly warning?: string | undefined
}): string {
  const text = warning ?? readLine(cutDescriptionHtml(contentHtml))
  return text.length <= maxDescriptionChars ? text : `${text.slice(0, maxDescriptionChars).toWellFormed()}…`
}

function readLine(contentHtml: string): string {
  const pieces: string[] = []
  const separateWords = (name: string) => void pieces.push(inlineElements.has(name) ? '' : ' ')
  tokenizeHtml(contentHtml, {
    text: text => void pieces.push(text),
    open: separateWords,
    close: separateWords,
    isForeign: () => false,
  })
  return pieces.join('').replace(/\s+/g, ' ').trim()
}

/** Cuts HTML for the description, before a tag that the limit would split. */
function cutDescriptionHtml(contentHtml: string): string {
  return contentHtml.length <= maxReadHtmlChars
    ? contentHtml
    : contentHtml.slice(0, contentHtml.lastIndexOf('<', maxReadHtmlChars))
}
