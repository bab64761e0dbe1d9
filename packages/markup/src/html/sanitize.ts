// Rewrites HTML from others with known elements only.
import { escapeHtml } from '@postern/message/html-characters'
import type { HtmlAttributes } from '../elements/elements.ts'
import { blockBreaks, tokenizeHtml } from '../elements/elements.ts'
import { writeTextTable } from '../tables/text-table.ts'
import { bracketAlternative, createMarkWriter, readAlternative, readBox } from './inline-marks.ts'
import type { MathReader } from './math-reader.ts'
import { createMathReader } from './math-reader.ts'

interface SanitizeOptions {
  /**
   * The elements that stay. Of all other elements only the text stays. Other blocks leave a line break between them, and another table becomes text
   * with even columns.
   */
  readonly allowed: ReadonlySet<string>
  /** Finds the address that is shown for a link, or returns undefined to show none. */
  findAddress(href: string | undefined): string | undefined
  /** Returns further attributes of a start tag, already formatted, each with a blank before it. */
  readonly attributesOf?: ((name: string) => string) | undefined
}

const listNames = (names: string): ReadonlySet<string> => new Set(names.split(' '))

/** Elements that are dropped with their content, which is no text for people. */
const skippedElements = listNames(
  'script style template noscript noembed noframes iframe object svg math head title textarea select audio video canvas rp',
)
const blockElements: ReadonlySet<string> = new Set([...blockBreaks.keys(), 'br', 'td', 'th', 'caption'])
/** The maximum number of open elements of each kind, because each tag searches the open ones. */
const maxOpen = 64

interface SanitizerState {
  readonly options: SanitizeOptions
  readonly out: string[]
  readonly open: string[]
  readonly skipping: string[]
  readonly marks: ReturnType<typeof createMarkWriter>
  /** The rows of a table that becomes text. A nested table adds rows. */
  table: string[][] | undefined
  /** The number of open tables. */
  depth: number
  /** The open formula. */
  math: MathReader | undefined
  /** The state of the current line: it has no text, it has text, or a block that does not stay has ended or begun after its text. */
  line: 'empty' | 'text' | 'ended'
}

/**
 * Returns HTML with known elements only. They are closed in order, and have no attributes except the address of a link and those of `attributesOf`.
 * It takes linear time.
 */
export function sanitizeHtml(html: string, options: SanitizeOptions): string {
  const out: string[] = []
  const marks = createMarkWriter(createPieces(out), name => !options.allowed.has(name))
  const initialState = { table: undefined, depth: 0, math: undefined, line: 'empty' } as const
  const state: SanitizerState = { ...initialState, options, out, marks, open: [], skipping: [] }
  tokenizeHtml(html, {
    text(text) {
      if (state.math) state.math.text(text)
      else if (state.skipping.length === 0) writeText(text, state)
    },
    open: (name, attributes) => startElement(name, attributes, state),
    close: name => endElement(name, state),
    isForeign: () => state.skipping.includes('svg') || state.skipping.includes('math'),
  })
  endMath(state)
  state.depth = 0
  endTable(state)
  closeDownTo(0, state)
  return out.join('')
}

/** Writes text. Text of a table outside its cells precedes the table (HTML §13.2.6.1), and blanks between cells vanish. */
function writeText(text: string, state: SanitizerState): void {
  const { table, out } = state
  const row = table?.at(-1) ?? []
  const cell = row.pop()
  if (cell !== undefined) row.push(cell + text)
  else if (text.trim() !== '') {
    endLine(state)
    state.line = 'text'
    out.push(escapeHtml(text))
  } else if (!table) out.push(escapeHtml(text))
}

/** Breaks the line if text follows a block that has ended. */
function endLine(state: SanitizerState): void {
  if (state.line === 'ended') state.out.push('<br>')
  state.line = 'empty'
}

/** Separates the words of two blocks, including those in a cell. */
function separateWords(state: SanitizerState): void {
  if (state.table?.at(-1)?.length) writeText(' ', state)
  else if (state.line === 'text') state.line = 'ended'
}

function closeDownTo(depth: number, { open, out }: SanitizerState): void {
  while (open.length > depth) out.push(`</${open.pop()}>`)
}

function startElement(name: string, attributes: HtmlAttributes, state: SanitizerState): void {
  const { skipping, marks, options, table } = state
  state.math?.open(name, attributes)
  if (name === 'math' && skipping.length === 0) state.math = createMathReader(attributes)
  if (skippedElements.has(name) && skipping.length < maxOpen) skipping.push(name)
  if (skipping.length > 0) return
  const isAllowed = options.allowed.has(name)
  if (blockElements.has(name) && (table || !isAllowed)) separateWords(state)
  if (!table) marks.open(name)
  if (!isAllowed) writeOther(name, attributes, state)
  else if (!table) writeStart(name, attributes, state)
}

function writeStart(name: string, attributes: HtmlAttributes, state: SanitizerState): void {
  const { out, open, options } = state
  if (blockElements.has(name)) state.line = 'empty'
  else endLine(state)
  if (name === 'br' || name === 'hr') out.push(`<${name}>`)
  else if (open.length < maxOpen) {
    open.push(name)
    const href = name === 'a' ? options.findAddress(attributes.get('href')) : undefined
    const link = href ? ` href="${escapeHtml(href)}" rel="nofollow noopener noreferrer"` : ''
    out.push(`<${name}${link}${options.attributesOf?.(name) ?? ''}>`)
  }
}

/** The writers for elements that do not stay. */
const otherElements: Readonly<Record<string, (state: SanitizerState, attributes: HtmlAttributes) => void>> = {
  table(state) {
    state.depth += 1
    state.table ??= []
  },
  tr: ({ table }) => table?.push([]),
  td: ({ table }) => beginCell(table),
  th: ({ table }) => beginCell(table),
  img(state, attributes) {
    const text = readAlternative(attributes)
    if (text !== undefined) writeText(state.open.includes('a') ? text : bracketAlternative(text), state)
  },
  input: (state, attributes) => writeText(readBox(attributes) ?? '', state),
}

function writeOther(name: string, attributes: HtmlAttributes, state: SanitizerState): void {
  if (Object.hasOwn(otherElements, name)) otherElements[name]?.(state, attributes)
}

function beginCell(table: string[][] | undefined): void {
  if (table?.length === 0) table.push([])
  table?.at(-1)?.push('')
}

function endElement(name: string, state: SanitizerState): void {
  const { skipping, open, marks, options } = state
  state.math?.close(name)
  if (skipping.length > 0) {
    const at = skipping.lastIndexOf(name)
    if (at >= 0) skipping.length = at
    if (name === 'math') endMath(state)
    return
  }
  if (name === 'table' && !options.allowed.has(name)) {
    state.depth -= 1
    endTable(state)
  }
  if (blockElements.has(name)) {
    if (state.table || !options.allowed.has(name)) separateWords(state)
    else state.line = 'empty'
  }
  if (state.table) return
  marks.close(name)
  const at = open.lastIndexOf(name)
  if (at >= 0) closeDownTo(at, state)
}

function endTable(state: SanitizerState): void {
  if (state.depth > 0 || !state.table) return
  const text = writeTextTable(state.table)
  state.table = undefined
  state.depth = 0
  state.line = 'empty'
  if (text !== '') state.out.push(`<pre><code>${escapeHtml(text)}</code></pre>`)
}

function endMath(state: SanitizerState): void {
  const formula = state.math?.toString()
  state.math = undefined
  if (formula) writeText(formula, state)
}

/** Creates the operations on the written HTML that marks need. */
function createPieces(out: string[]) {
  return {
    bookmark: () => out.length,
    since: (at: number) => out.slice(at).join(''),
    replaceSince(at: number, text: string) {
      out.length = Math.min(out.length, at)
      out.push(text)
    },
    /** Returns the last character of the text before a position. Tags of inline elements do not separate words. */
    charBefore(at: number): string {
      for (let index = at - 1; index >= 0; index -= 1) {
        const piece = out[index] ?? ''
        const tag = /^<\/?([a-z0-9]+)/.exec(piece)?.[1]
        if (tag === undefined) return piece.at(-1) ?? ''
        if (blockElements.has(tag) || at - index > maxOpen) return ''
      }
      return ''
    },
  }
}
