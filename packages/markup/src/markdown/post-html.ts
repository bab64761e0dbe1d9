// Renders Markdown as the small subset of HTML that fediverse servers show.
import { escapeHtml } from '@postern/message/html-characters'
import { lazy } from '@postern/message/lazy'
import type { Token } from 'markdown-it'
import type { ColumnAlign } from '../tables/text-table.ts'
import { writeTextTable } from '../tables/text-table.ts'
import { createMarkdownParser, maxMarkdownChars, maxNesting } from './parser.ts'

type Render = (token: Token) => string

const paragraph: Render = ({ hidden }) => (hidden ? '' : '<p>')
const paragraphEnd: Render = ({ hidden }) => (hidden ? '' : '</p>')
const code: Render = ({ content }) => `<pre><code>${escapeHtml(content.replace(/\n$/, ''))}</code></pre>`
const text: Render = ({ content }) => escapeHtml(content)
/**
 * Renders an escaped character, which begins neither a mention nor a tag (CommonMark §2.4). A character reference hides it from the parser of
 * mentions.
 */
const escapedCharacter: Render = ({ content }) =>
  /^[#@]$/.test(content) ? `&#${content.charCodeAt(0)};` : escapeHtml(content)
const lineEnd: Render = () => '<br>'
const open = (name: string) => () => `<${name}>`
const close = (name: string) => () => `</${name}>`

/** The renderers of tokens for fediverse servers. Mastodon shows no headings, so they become bold, and a rule becomes a line of dashes. */
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
  text_special: escapedCharacter,
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
  const markdownParser = createMarkdownParser(['https:', 'http:'])
  // An escaped character that was joined with the text around it could not be told from an unescaped one.
  markdownParser.core.ruler.disable('text_join')
  return markdownParser
})

/**
 * Converts the Markdown that agents write to the subset of HTML that fediverse servers show: paragraphs, lines, emphasis, links, code, lists and
 * quotes (CommonMark 0.31). HTML in the Markdown becomes plain text. Servers show no tables, so a table becomes text with even columns.
 */
export function markdownToPostHtml(markdown: string): string {
  if (markdown.length > maxMarkdownChars) return plainToPostHtml(markdown)
  const tokens = parser().parse(markdown, {})
  // The parser would drop blocks that are nested deeper.
  if (tokens.some(({ level }) => level >= maxNesting)) return plainToPostHtml(markdown)
  return writeTables(tokens).map(writeToken).join('')
}

/** Converts Markdown like `markdownToPostHtml`, but within one paragraph. */
export function inlineToPostHtml(markdown: string): string {
  return markdown.length > maxMarkdownChars
    ? writePlain(markdown)
    : parser().parseInline(markdown, {}).map(writeToken).join('')
}

/** Returns the tokens with each table replaced by one block of code. */
function writeTables(tokens: readonly Token[]): readonly Token[] {
  if (!tokens.some(({ type }) => type === 'table_open')) return tokens
  let table: TableSource | undefined
  return tokens.flatMap(token => {
    if (token.type === 'table_open') table = { block: token, rows: [], aligns: [] }
    if (!table) return [token]
    if (token.type !== 'table_close') {
      addToTable(table, token)
      return []
    }
    const { block, rows, aligns } = table
    table = undefined
    return [Object.assign(block, { type: 'code_block', content: writeTextTable(rows, aligns) })]
  })
}

interface TableSource {
  readonly block: Token
  readonly rows: string[][]
  readonly aligns: ColumnAlign[]
}

function addToTable({ rows, aligns }: TableSource, token: Token): void {
  if (token.type === 'tr_open') rows.push([])
  else if (token.type === 'th_open') aligns.push(readAlign(token))
  else if (token.type === 'inline') rows.at(-1)?.push(readCell(token.children ?? []))
}

function readAlign(cell: Token): ColumnAlign {
  const [, align = 'left'] = /text-align:(left|right|center)/.exec(String(cell.attrGet('style') ?? '')) ?? []
  return align as ColumnAlign
}

/** Reads a cell. Code cannot contain links, so the address of a link follows its label. */
function readCell(tokens: readonly Token[]): string {
  let address = ''
  let label = ''
  return tokens
    .map(({ type, content }, index) => {
      if (type === 'link_open') {
        address = String(tokens[index]?.attrGet('href') ?? '')
        label = ''
      }
      label += content
      if (type === 'link_close' && address !== label) return ` (${address})`
      return type === 'softbreak' || type === 'hardbreak' ? ' ' : content
    })
    .join('')
}

function plainToPostHtml(markdown: string): string {
  const paragraphs = markdown.split(/\n{2,}/).filter(paragraphText => paragraphText.trim() !== '')
  return paragraphs.map(paragraphText => `<p>${writePlain(paragraphText.trim())}</p>`).join('')
}

function writePlain(text: string): string {
  return escapeHtml(text).replaceAll('\n', '<br>')
}

function writeToken(token: Token): string {
  if (token.type === 'inline') return writeInline(token.children ?? [])
  return renderers[token.type]?.(token) ?? ''
}

/** Writes inline text. Nothing is loaded from elsewhere, so an image becomes a link to it, or its text if it is within a link. */
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
