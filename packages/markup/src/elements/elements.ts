// Tokenizes HTML as browsers do, and tracks the nesting of elements and lists.
import { Tokenizer } from 'htmlparser2'

/** The attributes of a start tag, with names in lower case. Of repeated attributes the first counts, as in browsers. */
export type HtmlAttributes = ReadonlyMap<string, string>

/** The reader of a document's tokens, in order. Character references in text are resolved. */
export interface HtmlReader {
  text(text: string): void
  open(name: string, attributes: HtmlAttributes): void
  close(name: string): void
  /** Returns true inside `svg` and `math`, where different rules hold for the content of elements. */
  isForeign(): boolean
  /** Returns true as soon as the reader needs no more of the document. It is called after each tag. */
  isOver?(): boolean
}

const [maxName, maxAttributes, maxValue] = [64, 64, 8192]
const foreignRoots: ReadonlySet<string> = new Set(['svg', 'math'])

/**
 * Reads HTML in one pass, by the rules of browsers (HTML §13.2.5). A construct without an end takes the rest of the document. CDATA is text in `svg`
 * and `math` only. Elsewhere it is a comment, which nobody sees.
 */
export function tokenizeHtml(html: string, reader: HtmlReader): void {
  let [name, key, value] = ['', '', '']
  let attributes = new Map<string, string>()
  let textRuns: string[] = []

  function flushText(): void {
    if (textRuns.length > 0) reader.text(textRuns.join(''))
    textRuns = []
  }
  function openTag(isSelfClosing: boolean): void {
    flushText()
    if (isSelfClosing && (foreignRoots.has(name) || reader.isForeign())) return
    reader.open(name, attributes)
    stopIfOver()
  }
  function stopIfOver(): void {
    if (reader.isOver?.()) tokenizer.pause()
  }
  function extendValue(piece: string): void {
    if (value.length < maxValue) value += piece.slice(0, maxValue)
  }

  const tokenizer = new Tokenizer(
    {},
    {
      ontext: (start, end) => void textRuns.push(html.slice(start, end)),
      ontextentity: code => void textRuns.push(String.fromCodePoint(code)),
      onopentagname(start, end) {
        name = readName(html, start, end)
        attributes = new Map()
      },
      onattribname(start, end) {
        key = readName(html, start, end)
        value = ''
      },
      onattribdata: (start, end) => extendValue(html.slice(start, Math.min(end, start + maxValue))),
      onattribentity: code => extendValue(String.fromCodePoint(code)),
      onattribend() {
        if (attributes.size < maxAttributes && !attributes.has(key)) attributes.set(key, value)
      },
      onopentagend: () => openTag(false),
      onselfclosingtag: () => openTag(true),
      onclosetag(start, end) {
        flushText()
        reader.close(readName(html, start, end).trim())
        stopIfOver()
      },
      isInForeignContext: () => reader.isForeign(),
      oncdata(start, end, offset) {
        if (reader.isForeign()) textRuns.push(html.slice(start, end - offset))
      },
      oncomment() {},
      ondeclaration() {},
      onprocessinginstruction() {},
      onend: flushText,
    },
  )
  tokenizer.write(html)
  tokenizer.end()
}

/** Reads the name of an element or attribute, or the beginning of a long one. */
function readName(html: string, start: number, end: number): string {
  return html.slice(start, Math.min(end, start + maxName)).toLowerCase()
}

/** The maximum number of elements that continue after one end tag, and the depth to which a formatting element is searched. */
const maxReopened = 16
/** The depth to which the previous item of a list is searched, because only few elements are between two items. */
const maxItemSearch = 16

/** Creates the stack of open elements. They are nested as in browsers, so that text hidden there is hidden here too. */
export function createOpenElements<Context>(root: Context) {
  const state: Nesting<Context> = { root, entries: [], total: new Map(), cells: [new Map()], tables: [new Map()] }
  return {
    /**
     * Enters an element.
     * @param read returns the context of the element for its content; it is called again if the element continues after a wrong end tag
     */
    enter(name: string, read: (outer: Context) => Context): void {
      endImplied(state, name)
      enter(state, name, read)
    },
    /** Leaves an element. It returns false if no such element can end here. */
    leave: (name: string) => leave(state, name),
    context: () => contextOf(state),
    /** Returns true if an element of this name is open. */
    has: (name: string) => (state.total.get(name) ?? 0) > 0,
  }
}

function enter<Context>(state: Nesting<Context>, name: string, read: (outer: Context) => Context): void {
  push(state, { name, read, context: read(contextOf(state)) })
}

function leave<Context>(state: Nesting<Context>, name: string): boolean {
  const counts = name === 'table' ? state.total : tableElements.has(name) ? state.tables.at(-1) : state.cells.at(-1)
  // A cell is closed from within, where the counts of the cell do not contain it. An element that begins a scope is counted outside it.
  const isOpen = (counts?.get(name) ?? 0) > 0 || (scopeElements.has(name) && (state.tables.at(-1)?.get(name) ?? 0) > 0)
  if (!isOpen) return false
  if (formattingElements.has(name)) return endFormatting(state, name)
  const isTable = scopeElements.has(name) || tableElements.has(name)
  reopenElements(
    state,
    popThrough(state, name).filter(entry => !isTable && formattingElements.has(entry.name)),
  )
  return true
}

/** Ends only this element. The elements that were opened in it continue. */
function endFormatting<Context>(state: Nesting<Context>, name: string): boolean {
  if (!state.entries.slice(-maxReopened).some(entry => entry.name === name)) return false
  reopenElements(state, popThrough(state, name))
  return true
}

function reopenElements<Context>(state: Nesting<Context>, inner: readonly OpenElement<Context>[]): void {
  for (const { name, read } of inner.slice(0, maxReopened).reverse()) enter(state, name, read)
}

function endItem<Context>(state: Nesting<Context>, names: readonly string[], stops: readonly string[]): void {
  for (const { name } of state.entries.slice(-maxItemSearch).reverse()) {
    if (names.includes(name)) return void leave(state, name)
    if (stops.includes(name) || scopeElements.has(name)) return
  }
}

function endImplied<Context>(state: Nesting<Context>, name: string): void {
  if (endsParagraph.has(name)) leave(state, 'p')
  if (name === 'li') endItem(state, ['li'], ['ul', 'ol'])
  else if (name === 'dt' || name === 'dd') endItem(state, ['dt', 'dd'], ['dl'])
  else if (name === 'tr') leave(state, 'tr')
  else if (name === 'td' || name === 'th') for (const cell of ['td', 'th']) leave(state, cell)
}

interface OpenElement<Context> {
  readonly name: string
  readonly context: Context
  readonly read: (outer: Context) => Context
}

type Counts = Map<string, number>

/** The open elements, and their number by name. The counts avoid searches for a name that is not open, so the work stays linear. */
interface Nesting<Context> {
  readonly root: Context
  readonly entries: OpenElement<Context>[]
  readonly total: Counts
  /** The counts within each open cell or other scope. */
  readonly cells: Counts[]
  /** The counts within each open table. */
  readonly tables: Counts[]
}

/** Returns the context of the innermost element. */
function contextOf<Context>({ entries, root }: Nesting<Context>): Context {
  return entries.at(-1)?.context ?? root
}

function push<Context>(state: Nesting<Context>, entry: OpenElement<Context>): void {
  state.entries.push(entry)
  for (const counts of [state.total, state.cells.at(-1), state.tables.at(-1)]) changeCount(counts, entry.name, 1)
  if (scopeElements.has(entry.name)) state.cells.push(new Map())
  if (entry.name === 'table') state.tables.push(new Map())
}

function pop<Context>(state: Nesting<Context>): OpenElement<Context> | undefined {
  const entry = state.entries.pop()
  if (!entry) return undefined
  if (scopeElements.has(entry.name)) state.cells.pop()
  if (entry.name === 'table') state.tables.pop()
  for (const counts of [state.total, state.cells.at(-1), state.tables.at(-1)]) changeCount(counts, entry.name, -1)
  return entry
}

/** Closes an element of this name, and returns the elements that were opened in it, innermost first. */
function popThrough<Context>(state: Nesting<Context>, name: string): OpenElement<Context>[] {
  const inner: OpenElement<Context>[] = []
  for (let entry = pop(state); entry && entry.name !== name; entry = pop(state)) inner.push(entry)
  return inner
}

function changeCount(counts: Counts | undefined, name: string, amount: number): void {
  counts?.set(name, (counts.get(name) ?? 0) + amount)
}

const listNames = (names: string): ReadonlySet<string> => new Set(names.split(' '))

/** Elements whose content is never text for a reader. */
export const silentElements = listNames(
  'script style head title template noscript svg math object applet select datalist iframe noembed noframes textarea audio video canvas map progress meter rp',
)
/** Elements without content (HTML §13.1.2). */
export const voidElements = listNames('area base br col embed hr img input link meta param source track wbr')

/** The numbers of line ends around an element. Between two elements the larger number counts. */
export const blockBreaks: ReadonlyMap<string, number> = new Map([
  ...'li tr div table dt dd figcaption summary option center'.split(' ').map(name => [name, 1] as const),
  ...'p hr ul ol dl blockquote pre h1 h2 h3 h4 h5 h6 section article header footer main aside nav form fieldset figure details address'
    .split(' ')
    .map(name => [name, 2] as const),
])

/** Elements whose start tag ends an open paragraph (HTML §13.2.6.4.7). */
const endsParagraph = listNames(
  'address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr li main menu nav ol p pre section summary ul dt dd',
)
/** Elements that continue after the end of their parent, until their own end tag comes (HTML §13.2.4.3). */
const formattingElements = listNames('a b big code em font i nobr s small strike strong tt u')
/** Elements that limit the reach of an end tag (HTML §13.2.4.2). */
const scopeElements = listNames('table td th caption template object applet marquee')
const tableElements = listNames('tr td th tbody thead tfoot caption')

/** A list that contains text. */
export interface OpenList {
  /** The next number. Undefined if the items are not numbered. */
  number: number | undefined
  /** The depth of the list, from 1 for an outermost one. */
  readonly depth: number
}

/** The deepest list that is indented further. */
const maxListDepth = 16

/** Returns the list of an element's content, which is a new one for `ul` and `ol`. */
export function openList(name: string, attributes: HtmlAttributes, outer: OpenList | undefined): OpenList | undefined {
  if (name !== 'ul' && name !== 'ol') return outer
  const depth = Math.min((outer?.depth ?? 0) + 1, maxListDepth)
  return { number: name === 'ol' ? readStart(attributes.get('start')) : undefined, depth }
}

/** Returns the mark before the next item. */
export function nextMark(list: OpenList | undefined): string {
  if (list?.number === undefined) return '- '
  list.number += 1
  return `${list.number - 1}. `
}

function readStart(text: string | undefined): number {
  return text && /^\d{1,6}$/.test(text) ? Number(text) : 1
}
