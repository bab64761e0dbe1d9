/** Longer text is shown as it is, unformatted: reading it would hold up everybody else. */
const maxChars = 100_000
/** Quotes within quotes; below that their marks are text. An agent may repeat what a stranger wrote. */
const maxQuotes = 20

type BlockRule = readonly [pattern: RegExp, write: (lines: readonly string[], depth: number) => string]

/** Markdown as mail programs can show it: a small fixed set of elements, nothing remote, everything else escaped. */
export function renderMarkdownHtml(markdown: string): string {
  if (markdown.length > maxChars) return renderPlainHtml(markdown)
  return splitFences(markdown)
    .map(({ code, text }) => (code ? `<pre><code>${escapeHtml(text)}</code></pre>` : renderBlocks(text, 0)))
    .join('\n')
}

/** Plain text as HTML: line breaks kept, nothing read into it. */
export function renderPlainHtml(text: string): string {
  return `<p>${escapeHtml(text).replaceAll('\n', '<br>\n')}</p>`
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

/** Cuts at the lines of three backticks; an open fence runs to the end. */
function splitFences(markdown: string): { readonly code: boolean; readonly text: string }[] {
  const blocks: { code: boolean; lines: string[] }[] = [{ code: false, lines: [] }]
  for (const line of markdown.split('\n')) {
    if (/^\s{0,3}```/.test(line)) blocks.push({ code: !blocks.at(-1)?.code, lines: [] })
    else blocks.at(-1)?.lines.push(line)
  }
  return blocks
    .filter(({ lines }) => lines.some(line => line.trim()))
    .map(({ code, lines }) => ({ code, text: lines.join('\n') }))
}

function renderBlocks(text: string, depth: number): string {
  const blocks = text.split(/\n[ \t]*\n/).map(block => block.trim())
  return blocks
    .filter(Boolean)
    .map(block => renderBlock(block.split('\n'), depth))
    .join('\n')
}

const headingMark = /^#{1,6}\s/
const blockRules: readonly BlockRule[] = [
  [headingMark, renderHeadings],
  [/^\s*[-*+]\s/, lines => renderList('ul', /^\s*[-*+]\s+/, lines)],
  [/^\s*\d{1,9}[.)]\s/, lines => renderList('ol', /^\s*\d{1,9}[.)]\s+/, lines)],
  [/^>/, renderQuote],
]

function renderBlock(lines: readonly string[], depth: number): string {
  const rule = blockRules.find(([pattern]) => pattern.test(lines[0] ?? ''))
  return rule ? rule[1](lines, depth) : renderParagraph(lines)
}

function renderParagraph(lines: readonly string[]): string {
  return `<p>${lines.map(renderInline).join('<br>\n')}</p>`
}

function renderQuote(lines: readonly string[], depth: number): string {
  if (depth >= maxQuotes) return renderParagraph(lines)
  const quoted = lines.map(line => line.replace(/^>\s?/, '')).join('\n')
  return `<blockquote>${renderBlocks(quoted, depth + 1)}</blockquote>`
}

/** All at the top of a block, and what stands below them. */
function renderHeadings(lines: readonly string[], depth: number): string {
  const end = lines.findIndex(line => !headingMark.test(line))
  const count = end < 0 ? lines.length : end
  const headings = lines.slice(0, count).map(renderHeading).join('')
  return count < lines.length ? headings + renderBlock(lines.slice(count), depth) : headings
}

function renderHeading(line: string): string {
  const level = line.indexOf(' ') < 1 ? 1 : Math.min(line.indexOf(' '), 6)
  return `<h${level}>${renderInline(line.slice(level).trim())}</h${level}>`
}

/** A line without a mark continues the item above it. */
function renderList(tag: 'ul' | 'ol', mark: RegExp, lines: readonly string[]): string {
  const items: string[] = []
  for (const line of lines) {
    if (mark.test(line) || items.length === 0) items.push(renderInline(line.replace(mark, '')))
    else items.push(`${items.pop() ?? ''}<br>\n${renderInline(line.trim())}`)
  }
  return `<${tag}>\n${items.map(item => `<li>${item}</li>`).join('\n')}\n</${tag}>`
}

/** Code first, so that nothing is read into it. */
function renderInline(line: string): string {
  return line
    .split(/(`[^`]+`)/)
    .map(piece => (/^`[^`]+`$/.test(piece) ? `<code>${escapeHtml(piece.slice(1, -1))}</code>` : renderSpans(piece)))
    .join('')
}

function renderSpans(text: string): string {
  return escapeHtml(text)
    .replace(/\[([^[\]]{1,500})\]\(((?:https?:\/\/|mailto:)[^\s()]{1,2000})\)/g, '<a href="$2">$1</a>')
    .replace(/\*\*([^*]{1,1000})\*\*/g, '<strong>$1</strong>')
    .replace(/(^|[\s(])\*([^*\s][^*]{0,500})\*(?=$|[\s).,;:!?])/g, '$1<em>$2</em>')
    .replace(/(^|[\s(])_([^_\s][^_]{0,500})_(?=$|[\s).,;:!?])/g, '$1<em>$2</em>')
}
