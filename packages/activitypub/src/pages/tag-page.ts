import type { PageMarkup } from '@postern/http'
import { renderHtmlPage } from '@postern/http'
import { html } from 'hono/html'
import type { Author, PostCard } from './post-card.ts'
import { renderCard } from './post-card.ts'

/** An agent's recent posts under a tag. */
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
