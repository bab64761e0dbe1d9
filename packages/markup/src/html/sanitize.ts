// Rewrites foreign HTML with known elements only.
import { escapeHtml } from '@postern/message/html-characters'
import type { HtmlAttributes } from '../elements/elements.ts'
import { blockBreaks, tokenizeHtml } from '../elements/elements.ts'
import { writeTextTable } from '../tables/text-table.ts'
import { bracketAlternative, createMarkWriter, readAlternative, readCheckMark } from './inline-marks.ts'
import type { MathReader } from './math-reader.ts'
import { createMathReader } from './math-reader.ts'

interface SanitizeOptions {
  /**
   * The elements that stay. All other elements are replaced by their text. Between two replaced blocks stands a line break, and a replaced
   * table becomes text with even columns.
   */
  readonly allowedElements: ReadonlySet<string>
  /** Finds the address that is shown for a link, or returns undefined to show none. */
  findAddress(href: string | undefined): string | undefined
  /** Returns further attributes of a start tag, already formatted, each with a blank before it. */
  readonly formatAttributes?: ((name: string) => string) | undefined
}

const toNameSet = (names: string): ReadonlySet<string> => new Set(names.split(' '))

/** Elements that are dropped with their content, which is no text for people. */
const skippedElements = toNameSet(
  'script style template noscript noembed noframes iframe object svg math head title textarea select audio video canvas rp',
)
const blockElements: ReadonlySet<string> = new Set([...blockBreaks.keys(), 'br', 'td', 'th', 'caption'])
/** The maximum number of open elements of each kind, because each tag searches the open ones. */
const maxOpen = 64

interface SanitizerState {
  readonly options: SanitizeOptions
  readonly pieces: string[]
  readonly openNames: string[]
  readonly skippedNames: string[]
  readonly marks: ReturnType<typeof createMarkWriter>
  /** The rows of a table that becomes text. A nested table adds rows. */
  table: string[][] | undefined
  /** The number of open tables. */
  tableDepth: number
  /** The open formula. */
  math: MathReader | undefined
  /** The state of the current line: it has no text, it has text, or a replaced block has begun or ended after its text. */
  lineState: 'empty' | 'text' | 'ended'
}

/**
 * Returns HTML with known elements only, in linear time. The elements are closed in order, and have no attributes except the address of a link and
 * those of `formatAttributes`.
 */
export function sanitizeHtml(html: string, options: SanitizeOptions): string {
  const pieces: string[] = []
  const marks = createMarkWriter(createMarkedPieces(pieces), name => !options.allowedElements.has(name))
  const initialState = { table: undefined, tableDepth: 0, math: undefined, lineState: 'empty' } as const
  const state: SanitizerState = { ...initialState, options, pieces, marks, openNames: [], skippedNames: [] }
  tokenizeHtml(html, {
    text(text) {
      if (state.math) state.math.text(text)
      else if (state.skippedNames.length === 0) writeText(text, state)
    },
    open: (name, attributes) => startElement(name, attributes, state),
    close: name => endElement(name, state),
    isForeign: () => state.skippedNames.includes('svg') || state.skippedNames.includes('math'),
  })
  endMath(state)
  state.tableDepth = 0
  endTable(state)
  closeDownTo(0, state)
  return pieces.join('')
}

/** Writes text. Text of a table outside its cells precedes the table (HTML §13.2.6.1), and blanks between cells vanish. */
function writeText(text: string, state: SanitizerState): void {
  const { table, pieces } = state
  const row = table?.at(-1) ?? []
  const cell = row.pop()
  if (cell !== undefined) row.push(cell + text)
  else if (text.trim() !== '') {
    breakEndedLine(state)
    state.lineState = 'text'
    pieces.push(escapeHtml(text))
  } else if (!table) pieces.push(escapeHtml(text))
}

/** Writes the line break before text that follows a replaced block. */
function breakEndedLine(state: SanitizerState): void {
  if (state.lineState === 'ended') state.pieces.push('<br>')
  state.lineState = 'empty'
}

/** Separates the words of two blocks, including those in a cell. */
function separateWords(state: SanitizerState): void {
  if (state.table?.at(-1)?.length) writeText(' ', state)
  else if (state.lineState === 'text') state.lineState = 'ended'
}

function closeDownTo(depth: number, { openNames, pieces }: SanitizerState): void {
  while (openNames.length > depth) pieces.push(`</${openNames.pop()}>`)
}

function startElement(name: string, attributes: HtmlAttributes, state: SanitizerState): void {
  const { skippedNames, marks, options, table } = state
  state.math?.open(name, attributes)
  if (name === 'math' && skippedNames.length === 0) state.math = createMathReader(attributes)
  if (skippedElements.has(name) && skippedNames.length < maxOpen) skippedNames.push(name)
  if (skippedNames.length > 0) return
  const isAllowed = options.allowedElements.has(name)
  if (blockElements.has(name) && (table || !isAllowed)) separateWords(state)
  if (!table) marks.open(name)
  if (!isAllowed) writeReplacedElement(name, attributes, state)
  else if (!table) writeStart(name, attributes, state)
}

function writeStart(name: string, attributes: HtmlAttributes, state: SanitizerState): void {
  const { pieces, openNames, options } = state
  if (blockElements.has(name)) state.lineState = 'empty'
  else breakEndedLine(state)
  if (name === 'br' || name === 'hr') pieces.push(`<${name}>`)
  else if (openNames.length < maxOpen) {
    openNames.push(name)
    const href = name === 'a' ? options.findAddress(attributes.get('href')) : undefined
    const link = href ? ` href="${escapeHtml(href)}" rel="nofollow noopener noreferrer"` : ''
    pieces.push(`<${name}${link}${options.formatAttributes?.(name) ?? ''}>`)
  }
}

/** The writers for elements that are replaced by text. */
const replacedElementWriters: Readonly<Record<string, (state: SanitizerState, attributes: HtmlAttributes) => void>> = {
  table(state) {
    state.tableDepth += 1
    state.table ??= []
  },
  tr: ({ table }) => table?.push([]),
  td: ({ table }) => beginCell(table),
  th: ({ table }) => beginCell(table),
  img(state, attributes) {
    const text = readAlternative(attributes)
    if (text !== undefined) writeText(state.openNames.includes('a') ? text : bracketAlternative(text), state)
  },
  input: (state, attributes) => writeText(readCheckMark(attributes) ?? '', state),
}

function writeReplacedElement(name: string, attributes: HtmlAttributes, state: SanitizerState): void {
  if (Object.hasOwn(replacedElementWriters, name)) replacedElementWriters[name]?.(state, attributes)
}

function beginCell(table: string[][] | undefined): void {
  if (table?.length === 0) table.push([])
  table?.at(-1)?.push('')
}

function endElement(name: string, state: SanitizerState): void {
  const { skippedNames, openNames, marks, options } = state
  state.math?.close(name)
  if (skippedNames.length > 0) {
    const depth = skippedNames.lastIndexOf(name)
    if (depth >= 0) skippedNames.length = depth
    if (name === 'math') endMath(state)
    return
  }
  if (name === 'table' && !options.allowedElements.has(name)) {
    state.tableDepth -= 1
    endTable(state)
  }
  if (blockElements.has(name)) {
    if (state.table || !options.allowedElements.has(name)) separateWords(state)
    else state.lineState = 'empty'
  }
  if (state.table) return
  marks.close(name)
  const depth = openNames.lastIndexOf(name)
  if (depth >= 0) closeDownTo(depth, state)
}

function endTable(state: SanitizerState): void {
  if (state.tableDepth > 0 || !state.table) return
  const text = writeTextTable(state.table)
  state.table = undefined
  state.tableDepth = 0
  state.lineState = 'empty'
  if (text !== '') state.pieces.push(`<pre><code>${escapeHtml(text)}</code></pre>`)
}

function endMath(state: SanitizerState): void {
  const formula = state.math?.toString()
  state.math = undefined
  if (formula) writeText(formula, state)
}

/** Creates the operations on the written HTML that marks need. */
function createMarkedPieces(pieces: string[]) {
  return {
    bookmark: () => pieces.length,
    textSince: (position: number) => pieces.slice(position).join(''),
    replaceSince(position: number, text: string) {
      pieces.length = Math.min(pieces.length, position)
      pieces.push(text)
    },
    /** Returns the last character of the text before a position. Tags of inline elements do not separate words. */
    precedingChar(position: number): string {
      for (let index = position - 1; index >= 0; index -= 1) {
        const piece = pieces[index] ?? ''
        const tag = /^<\/?([a-z0-9]+)/.exec(piece)?.[1]
        if (tag === undefined) return piece.at(-1) ?? ''
        if (blockElements.has(tag) || position - index > maxOpen) return ''
      }
      return ''
    },
  }
}
