import { lazy } from '@postern/core/lazy'
import type { Token } from 'markdown-it'
import { displayWidth } from './display-width.ts'
import { createMarkdownParser, maxMarkdown } from './parser.ts'

interface FoundTable {
  /** Lines of the source. */
  readonly start: number
  readonly end: number
  readonly rows: readonly (readonly string[])[]
}

/** Wider tables are written row by row: mail programs would break their lines. */
const maxWidth = 100

const parser = lazy(createMarkdownParser)

/** Markdown for people who read it as it is: its tables get even columns. Everything else stays as it was written. */
export function alignTables(markdown: string): string {
  if (!markdown.includes('|') || markdown.length > maxMarkdown) return markdown
  const tables = listTables(parser().parse(markdown, {}))
  if (tables.length === 0) return markdown
  const lines = markdown.split('\n')
  const pieces: string[] = []
  let at = 0
  for (const table of tables) {
    pieces.push(...lines.slice(at, table.start), ...writeTable(table, lines))
    at = table.end
  }
  return [...pieces, ...lines.slice(at)].join('\n')
}

function listTables(tokens: readonly Token[]): readonly FoundTable[] {
  const tables: { start: number; end: number; rows: string[][] }[] = []
  let isIn = false
  for (const { type, map, content } of tokens) {
    if (type === 'table_open' && map) tables.push({ start: map[0], end: map[1], rows: [] })
    if (type === 'table_open' || type === 'table_close') isIn = type === 'table_open'
    if (isIn && type === 'tr_open') tables.at(-1)?.rows.push([])
    if (isIn && type === 'inline') tables.at(-1)?.rows.at(-1)?.push(content.replaceAll('|', '\\|'))
  }
  return tables
}

/** Marks of quotes and items that a table stands behind. */
const firstPrefix = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*/
const nextPrefix = /^[ \t>]*/

function writeTable({ start, rows }: FoundTable, lines: readonly string[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(3, ...rows.map(row => displayWidth(row[column] ?? ''))))
  const isWide = widths.reduce((sum, width) => sum + width + 3, 1) > maxWidth
  const written = isWide ? writeRecords(rows) : writeRows(rows, widths)
  const [first, next] = [firstPrefix.exec(lines[start] ?? '')?.[0], nextPrefix.exec(lines[start + 1] ?? '')?.[0]]
  return written.map((line, index) => ((index === 0 ? first : next) ?? '') + line)
}

function writeRows([head = [], ...body]: FoundTable['rows'], widths: readonly number[]): readonly string[] {
  const write = (row: readonly string[]) =>
    `| ${widths.map((width, column) => pad(row[column] ?? '', width)).join(' | ')} |`
  return [write(head), `| ${widths.map(width => '-'.repeat(width)).join(' | ')} |`, ...body.map(write)]
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)))
}

/** `Name: value` for each cell, a line between rows. */
function writeRecords([head = [], ...body]: FoundTable['rows']): readonly string[] {
  if (body.length === 0) return [head.join(' | ')]
  return body.flatMap((row, index) => {
    const cells = row.flatMap((cell, column) => (cell ? [`${head[column] ? `${head[column]}: ` : ''}${cell}`] : []))
    return index === 0 ? cells : ['', ...cells]
  })
}
