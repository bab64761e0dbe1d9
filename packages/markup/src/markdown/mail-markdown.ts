// Renders Markdown as HTML and as plain text for mail programs, without remote images.
import { escapeHtml } from '@postern/message/html-characters'
import { lazy } from '@postern/message/lazy'
import type { Token } from 'markdown-it'
import stringWidth from 'string-width'
import { padCell } from '../tables/text-table.ts'
import { removeEscapes } from './escapes.ts'
import { createMarkdownParser, maxMarkdownChars, maxNesting } from './parser.ts'

/** Blocks whose direction follows their own text, because one mail may contain several scripts. */
const autoDirectionTokens: ReadonlySet<string> = new Set(
  'paragraph_open heading_open blockquote_open bullet_list_open ordered_list_open list_item_open th_open td_open'.split(
    ' ',
  ),
)
/** The attributes of table elements. Mail programs show tables without lines, and drop style sheets. */
const styles: Readonly<Record<string, string>> = {
  table_open: 'border-collapse:collapse',
  th_open: 'border:1px solid #ccc;padding:4px 8px',
  td_open: 'border:1px solid #ccc;padding:4px 8px',
}

const parser = lazy(() => {
  const markdownParser = createMarkdownParser()
  markdownParser.renderer.rules.fence = renderCode
  markdownParser.renderer.rules.code_block = renderCode
  return markdownParser
})

/**
 * Converts Markdown to HTML that mail programs can show, including tables, nested lists and code. Nothing remote is loaded, and HTML in the Markdown
 * becomes text.
 */
export function markdownToMailHtml(markdown: string): string {
  if (markdown.length > maxMarkdownChars) return plainToMailHtml(markdown)
  const reader = parser()
  const tokens = reader.parse(markdown, {})
  // The parser would drop blocks that are nested deeper.
  if (tokens.some(({ level }) => level >= maxNesting)) return plainToMailHtml(markdown)
  for (const token of tokens) styleToken(token)
  return reader.renderer.render(tokens, reader.options, {}).trim()
}

/** Converts plain text to HTML. Line ends stay, and no markup is interpreted. */
export function plainToMailHtml(text: string): string {
  return `<p dir="auto">${escapeHtml(text).replaceAll('\n', '<br>\n')}</p>`
}

function styleToken(token: Token): void {
  if (autoDirectionTokens.has(token.type)) token.attrSet('dir', 'auto')
  const style = styles[token.type]
  const ownStyle = token.attrGet('style')
  if (style) token.attrSet('style', ownStyle ? `${ownStyle};${style}` : style)
  if (token.children) token.children = linkImages(token.children)
}

/** Converts images to links, because nothing is loaded from elsewhere. */
function linkImages(tokens: readonly Token[]): Token[] {
  let isLinked = false
  return tokens.flatMap(token => {
    if (token.type === 'link_open' || token.type === 'link_close') isLinked = token.type === 'link_open'
    if (token.type !== 'image') return [token]
    const text = (token.children ?? []).filter(({ type }) => type !== 'link_open' && type !== 'link_close')
    return isLinked ? text : [createLinkToken(token, 1), ...text, createLinkToken(token, -1)]
  })
}

function createLinkToken(image: Token, nesting: 1 | -1): Token {
  const TokenClass = image.constructor as new (type: string, tag: string, nesting: number) => Token
  const link = new TokenClass(nesting === 1 ? 'link_open' : 'link_close', 'a', nesting)
  if (nesting === 1) link.attrSet('href', image.attrGet('src') ?? '')
  return link
}

function renderCode(tokens: readonly Token[], index: number): string {
  return `<pre><code>${escapeHtml(tokens[index]?.content ?? '')}</code></pre>\n`
}

interface TableRange {
  /** The lines of the source. */
  readonly start: number
  readonly end: number
  readonly rows: readonly (readonly string[])[]
}

/** The largest width of a table in characters. Wider tables are written row by row, because mail programs would break their lines. */
const maxTableChars = 100

/**
 * Returns Markdown for people who read it as plain text. Its tables get even columns, and backslash escapes are removed. Everything else stays
 * unchanged.
 */
export function markdownToMailText(markdown: string): string {
  return removeEscapes(alignTables(markdown))
}

function alignTables(markdown: string): string {
  if (!markdown.includes('|') || markdown.length > maxMarkdownChars) return markdown
  const tables = listTables(parser().parse(markdown, {}))
  if (tables.length === 0) return markdown
  const lines = markdown.split('\n')
  const pieces: string[] = []
  let index = 0
  for (const table of tables) {
    pieces.push(...lines.slice(index, table.start), ...writeTable(table, lines))
    index = table.end
  }
  return [...pieces, ...lines.slice(index)].join('\n')
}

function listTables(tokens: readonly Token[]): readonly TableRange[] {
  const tables: { start: number; end: number; rows: string[][] }[] = []
  let isInTable = false
  for (const { type, map, content } of tokens) {
    if (type === 'table_open' && map) tables.push({ start: map[0], end: map[1], rows: [] })
    if (type === 'table_open' || type === 'table_close') isInTable = type === 'table_open'
    if (isInTable && type === 'tr_open') tables.at(-1)?.rows.push([])
    if (isInTable && type === 'inline') tables.at(-1)?.rows.at(-1)?.push(removeEscapes(content))
  }
  return tables
}

/** Matches the marks of quotes and list items before a table. */
const firstPrefixPattern = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*/
const nextPrefixPattern = /^[ \t>]*/

function writeTable({ start, rows }: TableRange, lines: readonly string[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(3, ...rows.map(row => stringWidth(row[column] ?? ''))))
  const isWide = widths.reduce((sum, width) => sum + width + 3, 1) > maxTableChars
  const tableLines = isWide ? writeRecords(rows) : writeRows(rows, widths)
  const [first, next] = [
    firstPrefixPattern.exec(lines[start] ?? '')?.[0],
    nextPrefixPattern.exec(lines[start + 1] ?? '')?.[0],
  ]
  return tableLines.map((line, index) => ((index === 0 ? first : next) ?? '') + line)
}

function writeRows([head = [], ...body]: TableRange['rows'], widths: readonly number[]): readonly string[] {
  const write = (row: readonly string[]) =>
    `| ${widths.map((width, column) => padCell(row[column] ?? '', width)).join(' | ')} |`
  return [write(head), `| ${widths.map(width => '-'.repeat(width)).join(' | ')} |`, ...body.map(write)]
}

/** Writes a table as records: `Name: value` for each cell, and an empty line between rows. */
function writeRecords([head = [], ...body]: TableRange['rows']): readonly string[] {
  if (body.length === 0) return [head.join(' | ')]
  return body.flatMap((row, index) => {
    const cells = row.flatMap((cell, column) => (cell ? [`${head[column] ? `${head[column]}: ` : ''}${cell}`] : []))
    return index === 0 ? cells : ['', ...cells]
  })
}
