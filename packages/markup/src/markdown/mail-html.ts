import { escapeHtml } from '@postern/core/html-characters'
import { lazy } from '@postern/core/lazy'
import type { Token } from 'markdown-it'
import { createMarkdownParser, maxMarkdown, maxNesting } from './parser.ts'

/** Blocks whose direction follows their own text: one mail may hold several scripts. */
const ownDirection: ReadonlySet<string> = new Set(
  'paragraph_open heading_open blockquote_open bullet_list_open ordered_list_open list_item_open th_open td_open'.split(
    ' ',
  ),
)
/** Mail programs show tables without lines, and drop style sheets. */
const styles: Readonly<Record<string, string>> = {
  table_open: 'border-collapse:collapse',
  th_open: 'border:1px solid #ccc;padding:4px 8px',
  td_open: 'border:1px solid #ccc;padding:4px 8px',
}

const parser = lazy(() => {
  const created = createMarkdownParser()
  created.renderer.rules.fence = renderCode
  created.renderer.rules.code_block = renderCode
  return created
})

/** Markdown as mail programs can show it: tables, nested lists and code too, nothing remote; all markup in it is text. */
export function markdownToMailHtml(markdown: string): string {
  if (markdown.length > maxMarkdown) return plainToMailHtml(markdown)
  const reader = parser()
  const tokens = reader.parse(markdown, {})
  // What is nested deeper the parser would leave out.
  if (tokens.some(({ level }) => level >= maxNesting)) return plainToMailHtml(markdown)
  for (const token of tokens) dress(token)
  return reader.renderer.render(tokens, reader.options, {}).trim()
}

/** Plain text as HTML: line ends kept, nothing read into it. */
export function plainToMailHtml(text: string): string {
  return `<p dir="auto">${escapeHtml(text).replaceAll('\n', '<br>\n')}</p>`
}

function dress(token: Token): void {
  if (ownDirection.has(token.type)) token.attrSet('dir', 'auto')
  const style = styles[token.type]
  const own = token.attrGet('style')
  if (style) token.attrSet('style', own ? `${own};${style}` : style)
  if (token.children) token.children = linkImages(token.children)
}

/** Nothing is loaded from elsewhere: an image becomes a link to it. */
function linkImages(tokens: readonly Token[]): Token[] {
  let isLinked = false
  return tokens.flatMap(token => {
    if (token.type === 'link_open' || token.type === 'link_close') isLinked = token.type === 'link_open'
    if (token.type !== 'image') return [token]
    const text = (token.children ?? []).filter(({ type }) => type !== 'link_open' && type !== 'link_close')
    return isLinked ? text : [linkTo(token, 1), ...text, linkTo(token, -1)]
  })
}

function linkTo(image: Token, nesting: 1 | -1): Token {
  const Kind = image.constructor as new (type: string, tag: string, nesting: number) => Token
  const link = new Kind(nesting === 1 ? 'link_open' : 'link_close', 'a', nesting)
  if (nesting === 1) link.attrSet('href', image.attrGet('src') ?? '')
  return link
}

function renderCode(tokens: readonly Token[], at: number): string {
  return `<pre><code>${escapeHtml(tokens[at]?.content ?? '')}</code></pre>\n`
}
