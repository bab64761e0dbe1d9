import type { PageMarkup } from '@postern/http'
import { html } from 'hono/html'
import { describePost } from './describe-post.ts'
import type { PostCard } from './post-card.ts'

/** The preview of a link to the post in other programs (Open Graph protocol). Text behind a warning is left out. */
export function renderPostPreview(card: PostCard, siteName: string): PageMarkup {
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
