import { escapeHtml } from '@postern/core'
import { describePost } from './describe-post.ts'
import type { PageAgent } from './own-card.ts'
import { describeAgent } from './own-card.ts'
import type { PostCard } from './post-card.ts'

export const feedType = 'application/atom+xml'

export function feedAddress(origin: string, agent: string): string {
  return `${origin}/agents/${agent}/feed.atom`
}

/** An agent's public posts as an Atom feed (RFC 4287). `madeAt` (ISO 8601 UTC) is the date of a feed without posts. */
export function renderFeed(agent: PageAgent, posts: readonly PostCard[], madeAt: string): string {
  const { name, url = '', icon } = describeAgent(agent)
  const self = feedAddress(agent.origin, agent.profile.name)
  const updated = posts.map(changedAt).sort().at(-1) ?? madeAt
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<id>${text(url)}</id>
<title>${text(name)}</title>
<subtitle>${text(agent.profile.description)}</subtitle>
<updated>${text(updated)}</updated>
<author><name>${text(name)}</name><uri>${text(url)}</uri></author>
<link rel="self" type="${feedType}" href="${text(self)}"/>
<link rel="alternate" type="text/html" href="${text(url)}"/>
${icon ? `<logo>${text(icon)}</logo>\n` : ''}${posts.map(renderEntry).join('')}</feed>
`
}

function renderEntry(post: PostCard): string {
  const { url = '', publishedAt, language, words, warning } = post
  const content = warning === undefined ? words : `<p>${escapeHtml(warning)}</p>${words}`
  return `<entry${language ? ` xml:lang="${text(language)}"` : ''}>
<id>${text(url)}</id>
<title>${text(describePost(post).slice(0, 80).toWellFormed())}</title>
<published>${text(publishedAt)}</published>
<updated>${text(changedAt(post))}</updated>
<link rel="alternate" type="text/html" href="${text(url)}"/>
<content type="html">${text(content)}</content>
</entry>
`
}

function changedAt({ publishedAt, editedAt }: PostCard): string {
  return editedAt ?? publishedAt
}

/** XML 1.0 has no place for most control characters, nor for halves of surrogate pairs. */
function text(value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML forbids (XML 1.0 §2.2)
  return escapeHtml(value.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, ''))
}
