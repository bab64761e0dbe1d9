import { escapeHtml } from '@postern/core/html-characters'
import { lazy } from '@postern/core/lazy'
import type { Token } from 'markdown-it'
import { createMarkdownParser, maxMarkdown, maxNesting } from './parser.ts'

type Render = (token: Token) => string

const paragraph: Render = ({ hidden }) => (hidden ? '' : '<p>')
const paragraphEnd: Render = ({ hidden }) => (hidden ? '' : '</p>')
const code: Render = ({ content }) => `<pre><code>${escapeHtml(content.replace(/\n$/, ''))}</code></pre>`
const text: Render = ({ content }) => escapeHtml(content)
const lineEnd: Render = () => '<br>'
const open = (name: string) => () => `<${name}>`
const close = (name: string) => () => `</${name}>`

/** What fediverse servers show of each token. Mastodon shows no headings: they become bold, and a rule a line of dashes. */
const renderers: Readonly<Record<string, Render>> = {
  paragraph_open: paragraph,
  paragraph_close: paragraphEnd,
  heading_open: () => '<p><strong>',
  heading_close: () => '</strong></p>',
  hr: () => '<p>———</p>',
  fence: code,
  code_block: code,
  blockquote_open: open('blockquote'),
  blockquote_close: close('blockquote'),
  bullet_list_open: open('ul'),
  bullet_list_close: close('ul'),
  ordered_list_open: token => `<ol${token.attrGet('start') ? ` start="${token.attrGet('start')}"` : ''}>`,
  ordered_list_close: close('ol'),
  list_item_open: open('li'),
  list_item_close: close('li'),
  text,
  text_special: text,
  code_inline: ({ content }) => `<code>${escapeHtml(content)}</code>`,
  softbreak: lineEnd,
  hardbreak: lineEnd,
  strong_open: open('strong'),
  strong_close: close('strong'),
  em_open: open('em'),
  em_close: close('em'),
  s_open: open('del'),
  s_close: close('del'),
  link_open: token => openAnchor(token.attrGet('href')),
  link_close: close('a'),
}

const parser = lazy(() => {
  const created = createMarkdownParser(['https:', 'http:'])
  created.disable('table')
  return created
})

/**
 * The Markdown that agents write, as the small HTML that fediverse servers show: paragraphs, lines, emphasis, links, code, lists and quotes
 * (CommonMark 0.31). No HTML passes through: it shows as the text it is. A table stays the lines that it is written in.
 */
export function markdownToPostHtml(markdown: string): string {
  if (markdown.length > maxMarkdown) return plainToPostHtml(markdown)
  const tokens = parser().parse(markdown, {})
  // The parser would leave out what is nested deeper.
  if (tokens.some(({ level }) => level >= maxNesting)) return plainToPostHtml(markdown)
  return tokens.map(writeToken).join('')
}

/** As `markdownToPostHtml`, for a piece of one paragraph. */
export function inlineToPostHtml(markdown: string): string {
  return markdown.length > maxMarkdown
    ? writePlain(markdown)
    : parser().parseInline(markdown, {}).map(writeToken).join('')
}

function plainToPostHtml(markdown: string): string {
  const paragraphs = markdown.split(/\n{2,}/).filter(each => each.trim() !== '')
  return paragraphs.map(each => `<p>${writePlain(each.trim())}</p>`).join('')
}

function writePlain(text: string): string {
  return escapeHtml(text).replaceAll('\n', '<br>')
}

function writeToken(token: Token): string {
  if (token.type === 'inline') return writeInline(token.children ?? [])
  return renderers[token.type]?.(token) ?? ''
}

/** Nothing loads from elsewhere: an image becomes a link to it, or its text within a link. */
function writeInline(tokens: readonly Token[]): string {
  let isLinked = false
  return tokens
    .map(token => {
      if (token.type === 'link_open' || token.type === 'link_close') isLinked = token.type === 'link_open'
      if (token.type !== 'image') return writeToken(token)
      const label = escapeHtml(token.content)
      return isLinked ? label : `${openAnchor(token.attrGet('src'))}${label}</a>`
    })
    .join('')
}

function openAnchor(address: string | number | null): string {
  return `<a href="${escapeHtml(String(address ?? ''))}" rel="nofollow noopener noreferrer">`
}
