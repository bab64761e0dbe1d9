import { escapeHtml } from '@postern/core'
import { findWebAddress } from '../format/document.ts'

/** Deeper than this no block has blocks inside: everything is a paragraph. */
export const maxDepth = 6

/** The beginnings of blocks, as the lines of them are written. */
export const fence = /^ {0,3}(```+|~~~+)/
export const bullet = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/
export const quoted = /^ {0,3}> ?/
export const heading = /^ {0,3}#{1,6} +/
export const rule = /^ {0,3}([-*_])( *\1){2,} *$/
/** Belongs to the list item above. */
export const indented = /^ {2,}\S/
/** The part that is removed from such a line. */
export const indent = /^ {2,4}/

export function isOrderedItem(line: string): boolean {
  return /^\s*\d/.test(line)
}

/** A block of lines, and how many of them it took. */
interface Block {
  readonly html: string
  readonly taken: number
}

/** Kinds of blocks, the first whose beginning fits is taken; a paragraph is what is left. */
const blockRules: readonly { begins: RegExp; read(lines: readonly string[], depth: number): Block }[] = [
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

/** Reads a construct at `at` and returns where it ends; `at` itself when there is none. */
type InlineRule = (text: string, at: number, out: InlineWriter) => number

/** Emphasis marks and their elements; of two that fit, the longer. */
const emphasis: readonly (readonly [mark: string, element: string])[] = [
  ['**', 'strong'],
  ['__', 'strong'],
  ['~~', 'del'],
  ['*', 'em'],
  ['_', 'em'],
]
const maxAddress = 2_048
const notInAddress: ReadonlySet<string> = new Set([' ', '\n', '\t', '[', ']', '<', '>', '"'])
const plainRun = /[^\\`*_~[\]!<h\n]+/y
const codeSpan = /(`+)([^`]+)\1(?!`)/y
const backticks = /`+/y
const bareAddress = /https?:\/\/[^\s<>"'`\\\][{}|^]{1,2048}/iy
const angleAddress = /<(https?:\/\/[^\s<>]{1,2048})>/iy

/** By the character it begins with. */
const rules: ReadonlyMap<string, InlineRule> = new Map<string, InlineRule>([
  ['\\', takeEscape],
  ['`', takeCode],
  ['*', takeEmphasis],
  ['_', takeEmphasis],
  ['~', takeEmphasis],
  ['!', takeImageMark],
  ['[', takeLinkStart],
  [']', takeLinkEnd],
  ['<', takeAngleAddress],
  ['h', takeBareAddress],
  ['\n', takeLineEnd],
])

/** Markdown inside of a block as HTML: everything that is not markup we know is escaped text. One pass. */
export function inlineToHtml(text: string): string {
  const out = createInlineWriter()
  for (let at = 0; at < text.length; ) {
    const run = matchAt(plainRun, text, at)
    if (run) {
      out.push(escapeHtml(run[0]))
      at += run[0].length
    } else at = takeMarkup(text, at, out)
  }
  return out.toString()
}

function takeMarkup(text: string, at: number, out: InlineWriter): number {
  const char = text[at] ?? ''
  const next = rules.get(char)?.(text, at, out) ?? at
  if (next > at) return next
  out.push(escapeHtml(char))
  return at + 1
}

function takeEscape(text: string, at: number, out: InlineWriter): number {
  const next = text[at + 1] ?? ''
  if (!/[!-/:-@[-`{-~]/.test(next)) return at
  out.push(escapeHtml(next))
  return at + 2
}

/** A run of backticks without its like further on is text, all of it at once. */
function takeCode(text: string, at: number, out: InlineWriter): number {
  const span = matchAt(codeSpan, text, at)
  const taken = span?.[0] ?? matchAt(backticks, text, at)?.[0] ?? ''
  out.push(span ? `<code>${escapeHtml(span[2] ?? '')}</code>` : taken)
  return at + taken.length
}

function takeEmphasis(text: string, at: number, out: InlineWriter): number {
  const [mark, element] = emphasis.find(([candidate]) => text.startsWith(candidate, at)) ?? []
  if (!mark) return at
  const before = text[at - 1] ?? ' '
  const after = text[at + mark.length] ?? ' '
  const isInsideWord = mark.includes('_') && /\w/.test(before) && /\w/.test(after)
  const place = /\s/.test(before) || isInsideWord ? undefined : out.closeMark(mark)
  if (place !== undefined) {
    out.replaceAt(place, `<${element}>`)
    out.push(`</${element}>`)
  } else if (/\s/.test(after) || isInsideWord) out.push(mark)
  else out.openMark(mark, mark)
  return at + mark.length
}

/** An image is a link to it. */
function takeImageMark(text: string, at: number): number {
  return text[at + 1] === '[' ? at + 1 : at
}

function takeLinkStart(_: string, at: number, out: InlineWriter): number {
  out.openMark('[', '[')
  return at + 1
}

function takeLinkEnd(text: string, at: number, out: InlineWriter): number {
  const end = text[at + 1] === '(' ? findAddressEnd(text, at + 2) : undefined
  const href = end === undefined ? undefined : findWebAddress(text.slice(at + 2, end))
  const place = href ? out.closeMark('[') : undefined
  if (end === undefined || !href || place === undefined) return at
  out.unlinkFrom(place)
  out.replaceAt(place, openAnchor(href), '')
  out.push('</a>', '')
  return end + 1
}

function takeAngleAddress(text: string, at: number, out: InlineWriter): number {
  const [whole, address] = matchAt(angleAddress, text, at) ?? []
  if (!whole || !address) return at
  pushAddress(address, out)
  return at + whole.length
}

function takeBareAddress(text: string, at: number, out: InlineWriter): number {
  const [whole] = matchAt(bareAddress, text, at) ?? []
  if (!whole) return at
  const address = trimAddress(whole)
  pushAddress(address, out)
  return at + address.length
}

function takeLineEnd(_: string, at: number, out: InlineWriter): number {
  out.push('<br>')
  return at + 1
}

function pushAddress(address: string, out: InlineWriter): void {
  const href = findWebAddress(address)
  const shown = escapeHtml(address)
  out.push(href ? `${openAnchor(href)}${shown}</a>` : shown, shown)
}

function openAnchor(href: string): string {
  return `<a href="${escapeHtml(href)}" rel="nofollow noopener noreferrer">`
}

/** The parenthesis that ends a link's address, others balanced. Ends early where no address goes on. */
function findAddressEnd(text: string, from: number): number | undefined {
  let depth = 0
  for (let at = from; at < Math.min(text.length, from + maxAddress); at += 1) {
    const char = text[at] ?? ''
    if (char === ')' && depth === 0) return at
    if (notInAddress.has(char)) return undefined
    depth += char === '(' ? 1 : char === ')' ? -1 : 0
  }
  return undefined
}

/** The end of a sentence is not part of the address in it. */
export function trimAddress(address: string): string {
  const bare = address.replace(/[.,;:!?*_~]{1,16}$/, '')
  return bare.endsWith(')') && !bare.includes('(') ? bare.slice(0, -1) : bare
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

type InlineWriter = ReturnType<typeof createInlineWriter>

/** HTML as it is being written, with marks that may yet turn out to be the beginning of an element. */
function createInlineWriter() {
  const pieces: { readonly html: string; readonly plain?: string | undefined }[] = []
  /** Places of the pieces that are links, in order: each is unlinked once, however deep the brackets are. */
  const links: number[] = []
  const openers: { readonly mark: string; readonly place: number }[] = []
  /** How many of a kind are open, so that a search that would find nothing is not begun. */
  const counts = new Map<string, number>()
  const count = (mark: string, change: number) => counts.set(mark, (counts.get(mark) ?? 0) + change)
  return {
    /** `plain` is what the piece becomes inside of a link, where no other link may be. */
    push(html: string, plain?: string) {
      if (plain !== undefined) links.push(pieces.length)
      pieces.push({ html, plain })
    },
    /** Writes `text` for now, to be replaced when its end is found. */
    openMark(mark: string, text: string) {
      count(mark, 1)
      openers.push({ mark, place: pieces.length })
      pieces.push({ html: text })
    },
    /** The place of the innermost open mark of this kind; marks opened inside of it stay text. Undefined without one. */
    closeMark(mark: string) {
      if (!counts.get(mark)) return undefined
      for (let opener = openers.pop(); opener; opener = openers.pop()) {
        count(opener.mark, -1)
        if (opener.mark === mark) return opener.place
      }
      return undefined
    },
    /** `plain` as for `push`; a link begins only after `unlinkFrom` its place. */
    replaceAt(place: number, html: string, plain?: string) {
      if (plain !== undefined) links.push(place)
      pieces[place] = { html, plain }
    },
    /** Turns links written since `place` into their text. */
    unlinkFrom(place: number) {
      while ((links.at(-1) ?? -1) >= place) {
        const at = links.pop() as number
        pieces[at] = { html: pieces[at]?.plain ?? '' }
      }
    },
    toString: () => pieces.map(({ html }) => html).join(''),
  }
}
