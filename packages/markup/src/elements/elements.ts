// Tokenizes HTML as browsers do, and tracks the nesting of elements and lists.
import { Tokenizer } from 'htmlparser2'

/** The attributes of a start tag, with names in lower case. If an attribute repeats, its first value counts, as in browsers. */
export type HtmlAttributes = ReadonlyMap<string, string>

/** The reader of a document's tokens, in order. Character references in text are resolved. */
export interface HtmlReader {
  text(text: string): void
  open(name: string, attributes: HtmlAttributes): void
  close(name: string): void
  /** Returns true inside `svg` and `math`, where other rules apply to the content of elements. */
  isForeign(): boolean
  /** Returns true as soon as the reader needs no more of the document. The tokenizer calls this function after each tag. */
  isOver?(): boolean
}

const [maxNameChars, maxAttributes, maxValueChars] = [64, 64, 8192]
const foreignRoots: ReadonlySet<string> = new Set(['svg', 'math'])

/**
 * Reads HTML in one pass, by the rules of browsers (HTML §13.2.5). A construct without an end spans the remaining document. CDATA is text in `svg`
 * and `math` only. Elsewhere CDATA is a comment, which nobody sees.
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
    if (value.length < maxValueChars) value += piece.slice(0, maxValueChars)
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
      onattribdata: (start, end) => extendValue(html.slice(start, Math.min(end, start + maxValueChars))),
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
  return html.slice(start, Math.min(end, start + maxNameChars)).toLowerCase()
}

/** The maximum number of elements that one end tag reopens, and the depth to which an open formatting element is searched. */
const maxReopenedElements = 16
/** The depth to which the previous item of a list is searched, because only few elements are between two items. */
const maxItemSearch = 16

/** Creates the stack of open elements, which are nested as in browsers. So text that browsers hide is also hidden here. */
export function createOpenElements<Context>(root: Context) {
  const state: Nesting<Context> = {
    root,
    entries: [],
    countsByName: new Map(),
    countsByScope: [new Map()],
    countsByTable: [new Map()],
  }
  return {
    /**
     * Enters an element.
     * @param read returns the context of the element for its content. The function runs again if the element continues after a wrong end tag
     */
    enter(name: string, read: (outerContext: Context) => Context): void {
      endImpliedElements(state, name)
      enter(state, name, read)
    },
    /** Leaves an element. Returns false if no such element can end here. */
    leave: (name: string) => leave(state, name),
    context: () => contextOf(state),
    /** Returns true if an element of this name is open. */
    has: (name: string) => (state.countsByName.get(name) ?? 0) > 0,
  }
}

function enter<Context>(state: Nesting<Context>, name: string, read: (outer: Context) => Context): void {
  push(state, { name, read, context: read(contextOf(state)) })
}

function leave<Context>(state: Nesting<Context>, name: string): boolean {
  const counts =
    name === 'table'
      ? state.countsByName
      : tableElements.has(name)
        ? state.countsByTable.at(-1)
        : state.countsByScope.at(-1)
  // A cell is closed from within, where the counts of the cell do not contain it. An element that begins a scope is counted outside it.
  const isOpen =
    (counts?.get(name) ?? 0) > 0 || (scopeElements.has(name) && (state.countsByTable.at(-1)?.get(name) ?? 0) > 0)
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
  if (!state.entries.slice(-maxReopenedElements).some(entry => entry.name === name)) return false
  reopenElements(state, popThrough(state, name))
  return true
}

function reopenElements<Context>(state: Nesting<Context>, innerElements: readonly OpenElement<Context>[]): void {
  for (const { name, read } of innerElements.slice(0, maxReopenedElements).reverse()) enter(state, name, read)
}

function endItem<Context>(state: Nesting<Context>, names: readonly string[], boundaryNames: readonly string[]): void {
  for (const { name } of state.entries.slice(-maxItemSearch).reverse()) {
    if (names.includes(name)) return void leave(state, name)
    if (boundaryNames.includes(name) || scopeElements.has(name)) return
  }
}

function endImpliedElements<Context>(state: Nesting<Context>, name: string): void {
  if (paragraphEndingElements.has(name)) leave(state, 'p')
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
  readonly countsByName: Counts
  /** The counts within each open cell or other scope. */
  readonly countsByScope: Counts[]
  /** The counts within each open table. */
  readonly countsByTable: Counts[]
}

/** Returns the context of the innermost element. */
function contextOf<Context>({ entries, root }: Nesting<Context>): Context {
  return entries.at(-1)?.context ?? root
}

function push<Context>(state: Nesting<Context>, entry: OpenElement<Context>): void {
  state.entries.push(entry)
  for (const counts of [state.countsByName, state.countsByScope.at(-1), state.countsByTable.at(-1)])
    changeCount(counts, entry.name, 1)
  if (scopeElements.has(entry.name)) state.countsByScope.push(new Map())
  if (entry.name === 'table') state.countsByTable.push(new Map())
}

function pop<Context>(state: Nesting<Context>): OpenElement<Context> | undefined {
  const entry = state.entries.pop()
  if (!entry) return undefined
  if (scopeElements.has(entry.name)) state.countsByScope.pop()
  if (entry.name === 'table') state.countsByTable.pop()
  for (const counts of [state.countsByName, state.countsByScope.at(-1), state.countsByTable.at(-1)])
    changeCount(counts, entry.name, -1)
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

const toNameSet = (names: string): ReadonlySet<string> => new Set(names.split(' '))

/** Elements whose content is never text for a reader. */
export const silentElements = toNameSet(
  'script style head title template noscript svg math object applet select datalist iframe noembed noframes textarea audio video canvas map progress meter rp',
)
/** Elements without content (HTML §13.1.2). */
export const voidElements = toNameSet('area base br col embed hr img input link meta param source track wbr')

/** The numbers of line ends around an element. Between two elements the larger number counts. */
export const blockBreaks: ReadonlyMap<string, number> = new Map([
  ...'li tr div table dt dd figcaption summary option center'.split(' ').map(name => [name, 1] as const),
  ...'p hr ul ol dl blockquote pre h1 h2 h3 h4 h5 h6 section article header footer main aside nav form fieldset figure details address'
    .split(' ')
    .map(name => [name, 2] as const),
])

/** Elements whose start tag ends an open paragraph (HTML §13.2.6.4.7). */
const paragraphEndingElements = toNameSet(
  'address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr li main menu nav ol p pre section summary ul dt dd',
)
/** Elements that continue after the end of their parent, until their own end tag comes (HTML §13.2.4.3). */
const formattingElements = toNameSet('a b big code em font i nobr s small strike strong tt u')
/** Elements that limit the reach of an end tag (HTML §13.2.4.2). */
const scopeElements = toNameSet('table td th caption template object applet marquee')
const tableElements = toNameSet('tr td th tbody thead tfoot caption')

/** A list that contains text. */
export interface OpenList {
  /** The next number. Undefined if the items are not numbered. */
  number: number | undefined
  /** The depth of the list, from 1 for an outermost one. */
  readonly depth: number
}

/** The deepest list that is indented further. */
const maxListDepth = 16

/** Returns the list of an element's content, which is a new list for `ul` and `ol`. */
export function findContentList(
  name: string,
  attributes: HtmlAttributes,
  outer: OpenList | undefined,
): OpenList | undefined {
  if (name !== 'ul' && name !== 'ol') return outer
  const depth = Math.min((outer?.depth ?? 0) + 1, maxListDepth)
  return { number: name === 'ol' ? readStart(attributes.get('start')) : undefined, depth }
}

/** Returns the mark before the next item. */
export function takeItemMark(list: OpenList | undefined): string {
  if (list?.number === undefined) return '- '
  list.number += 1
  return `${list.number - 1}. `
}

function readStart(text: string | undefined): number {
  return text && /^\d{1,6}$/.test(text) ? Number(text) : 1
}
