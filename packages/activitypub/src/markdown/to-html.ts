import { escapeHtml } from '@postern/core'
import { bullet, fence, heading, indent, indented, isOrderedItem, maxDepth, quoted, rule } from './block-marks.ts'
import { inlineToHtml } from './inline.ts'

/** A block of lines, and how many of them it took. */
interface Block {
  readonly html: string
  readonly taken: number
}

interface BlockRule {
  readonly begins: RegExp
  read(lines: readonly string[], depth: number): Block
}

/** Kinds of blocks, the first whose beginning fits is taken; a paragraph is what is left. */
const blockRules: readonly BlockRule[] = [
  { begins: /^\s*$/, read: () => ({ html: '', taken: 1 }) },
  { begins: fence, read: readFence },
  // Mastodon shows no headings; bold is what it makes of them.
  {
    begins: heading,
    read: ([line = '']) => ({ html: `<p><strong>${inlineToHtml(titleOf(line))}</strong></p>`, taken: 1 }),
  },
  { begins: rule, read: () => ({ html: '<p>———</p>', taken: 1 }) },
  { begins: quoted, read: readQuote },
  { begins: bullet, read: readList },
]

/**
 * The markdown agents write, as the small HTML this network shows: paragraphs, lines, emphasis, links, code, lists,
 * quotes. No HTML passes through; it is shown as the text it is.
 */
export function markdownToHtml(markdown: string): string {
  return blocksToHtml(markdown.replace(/\r\n?/g, '\n').split('\n'), 0)
}

function blocksToHtml(lines: readonly string[], depth: number): string {
  const blocks: string[] = []
  for (let at = 0; at < lines.length; ) {
    if (isBlank(lines[at] ?? '')) {
      at += 1
      continue
    }
    const { html, taken } = readBlock(lines.slice(at, at + maxBlockLines), depth)
    blocks.push(html)
    at += taken
  }
  return blocks.join('')
}

function isBlank(line: string): boolean {
  return line.trim() === ''
}

/** Longer blocks are cut in two; it keeps the work for each line bounded. */
const maxBlockLines = 500

function readBlock(lines: readonly string[], depth: number): Block {
  const [first = ''] = lines
  const found = depth < maxDepth ? blockRules.find(({ begins }) => begins.test(first)) : undefined
  return found ? found.read(lines, depth) : readParagraph(lines, depth)
}

function readParagraph(lines: readonly string[], depth: number): Block {
  const isEnd = (line: string) => depth < maxDepth && blockRules.some(({ begins }) => begins.test(line))
  const end = lines.findIndex((line, at) => at > 0 && isEnd(line))
  const taken = end < 0 ? lines.length : end
  const text = lines
    .slice(0, taken)
    .map(line => line.trim())
    .join('\n')
  return { html: `<p>${inlineToHtml(text)}</p>`, taken }
}

function readFence(lines: readonly string[]): Block {
  const mark = fence.exec(lines[0] ?? '')?.[1] ?? ''
  const end = lines.findIndex((line, at) => at > 0 && line.trim().startsWith(mark))
  const code = lines.slice(1, end < 0 ? lines.length : end).join('\n')
  return { html: `<pre><code>${escapeHtml(code)}</code></pre>`, taken: end < 0 ? lines.length : end + 1 }
}

function readQuote(lines: readonly string[], depth: number): Block {
  const end = lines.findIndex(line => !quoted.test(line))
  const inside = lines.slice(0, end < 0 ? lines.length : end)
  const html = blocksToHtml(
    inside.map(line => line.replace(quoted, '')),
    depth + 1,
  )
  return { html: `<blockquote>${html}</blockquote>`, taken: inside.length }
}

/** Items of one kind in a row; what is indented under an item belongs to it. */
function readList(lines: readonly string[], depth: number): Block {
  const isOrdered = isOrderedItem(lines[0] ?? '')
  const items: string[][] = []
  let taken = 0
  for (const line of lines) {
    if (indented.test(line) && taken > 0) items.at(-1)?.push(line.replace(indent, ''))
    else if (bullet.test(line) && !rule.test(line) && isOrderedItem(line) === isOrdered)
      items.push([line.replace(bullet, '')])
    else break
    taken += 1
  }
  const name = isOrdered ? 'ol' : 'ul'
  return {
    html: `<${name}${startOf(lines[0] ?? '')}>${items.map(item => itemToHtml(item, depth)).join('')}</${name}>`,
    taken,
  }
}

/** Mastodon keeps the number a list begins with. */
function startOf(line: string): string {
  const number = Number(/^\s*(\d+)/.exec(line)?.[1] ?? 1)
  return number === 1 ? '' : ` start="${number}"`
}

function itemToHtml([first = '', ...more]: readonly string[], depth: number): string {
  return `<li>${inlineToHtml(first)}${blocksToHtml(more, depth + 1)}</li>`
}

/** Without the closing marks; looked for from the end, for a pattern would try every blank of a long line. */
function titleOf(line: string): string {
  const title = line.replace(heading, '').trimEnd()
  let end = title.length
  while (title[end - 1] === '#') end -= 1
  return title[end - 1] === ' ' ? title.slice(0, end).trimEnd() : title
}
