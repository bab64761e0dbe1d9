import { Tokenizer } from 'htmlparser2'

/** Attributes of a start tag, names in lower case; if one is repeated the first counts, as in browsers. */
export type HtmlAttributes = ReadonlyMap<string, string>

/** What a document consists of, in order. Text has its character references resolved. */
export interface HtmlReader {
  text(text: string): void
  open(name: string, attributes: HtmlAttributes): void
  close(name: string): void
  /** True inside of `svg` and `math`, where other rules hold for the content of elements. */
  isForeign(): boolean
  /** True as soon as the rest of the document is not wanted; asked after each tag. */
  isOver?(): boolean
}

const [maxName, maxAttributes, maxValue] = [64, 64, 8192]
const foreignRoots: ReadonlySet<string> = new Set(['svg', 'math'])

/**
 * Reads HTML in one pass, with the rules of browsers (HTML §13.2.5): what has no end takes the rest of the document. CDATA is
 * text in `svg` and `math` only; elsewhere it is a comment, which nobody sees.
 */
export function tokenizeHtml(html: string, reader: HtmlReader): void {
  let [name, key, value] = ['', '', '']
  let attributes = new Map<string, string>()
  let words: string[] = []

  function flushText(): void {
    if (words.length > 0) reader.text(words.join(''))
    words = []
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
      ontext: (start, end) => void words.push(html.slice(start, end)),
      ontextentity: code => void words.push(String.fromCodePoint(code)),
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
        if (reader.isForeign()) words.push(html.slice(start, end - offset))
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

/** The name of an element or attribute; of a longer one the beginning. */
function readName(html: string, start: number, end: number): string {
  return html.slice(start, Math.min(end, start + maxName)).toLowerCase()
}

/** The maximum of elements that continue after one end tag, and the depth in which it finds its formatting element. */
const maxCarried = 16
/** An item ends the previous item of its list; only few elements are between the two. */
const maxItemSearch = 16

/** The open elements, nested as browsers nest them, so that text hidden there is hidden here. */
export function createOpenElements<Context>(root: Context) {
  const state: Nesting<Context> = { root, entries: [], total: new Map(), cells: [new Map()], tables: [new Map()] }
  return {
    /** @param read what the element is to its content; called again where the element continues after a wrong end tag */
    enter(name: string, read: (outer: Context) => Context): void {
      endImplied(state, name)
      enter(state, name, read)
    },
    /** False where no such element can end here. */
    leave: (name: string) => leave(state, name),
    context: () => contextOf(state),
    /** Whether an element of this name is open. */
    has: (name: string) => (state.total.get(name) ?? 0) > 0,
  }
}

function enter<Context>(state: Nesting<Context>, name: string, read: (outer: Context) => Context): void {
  push(state, { name, read, context: read(contextOf(state)) })
}

function leave<Context>(state: Nesting<Context>, name: string): boolean {
  const counts = name === 'table' ? state.total : tableElements.has(name) ? state.tables.at(-1) : state.cells.at(-1)
  // A cell is closed from within, where its own counts do not name it.
  // An element that begins a scope is counted outside of it.
  const isOpen = (counts?.get(name) ?? 0) > 0 || (scopeElements.has(name) && (state.tables.at(-1)?.get(name) ?? 0) > 0)
  if (!isOpen) return false
  if (formattingElements.has(name)) return endFormatting(state, name)
  const isTable = scopeElements.has(name) || tableElements.has(name)
  carry(
    state,
    popThrough(state, name).filter(entry => !isTable && formattingElements.has(entry.name)),
  )
  return true
}

/** Only this element ends; those opened in it continue. */
function endFormatting<Context>(state: Nesting<Context>, name: string): boolean {
  if (!state.entries.slice(-maxCarried).some(entry => entry.name === name)) return false
  carry(state, popThrough(state, name))
  return true
}

function carry<Context>(state: Nesting<Context>, inner: readonly OpenElement<Context>[]): void {
  for (const { name, read } of inner.slice(0, maxCarried).reverse()) enter(state, name, read)
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

/** Open elements, and how many of each name are open. The counts avoid searches for a name that is not open, so the work stays linear. */
interface Nesting<Context> {
  readonly root: Context
  readonly entries: OpenElement<Context>[]
  readonly total: Counts
  /** Counts within each open cell or other scope. */
  readonly cells: Counts[]
  /** Counts within each open table. */
  readonly tables: Counts[]
}

/** The context of the innermost element. */
function contextOf<Context>({ entries, root }: Nesting<Context>): Context {
  return entries.at(-1)?.context ?? root
}

function push<Context>(state: Nesting<Context>, entry: OpenElement<Context>): void {
  state.entries.push(entry)
  for (const counts of [state.total, state.cells.at(-1), state.tables.at(-1)]) change(counts, entry.name, 1)
  if (scopeElements.has(entry.name)) state.cells.push(new Map())
  if (entry.name === 'table') state.tables.push(new Map())
}

function pop<Context>(state: Nesting<Context>): OpenElement<Context> | undefined {
  const entry = state.entries.pop()
  if (!entry) return undefined
  if (scopeElements.has(entry.name)) state.cells.pop()
  if (entry.name === 'table') state.tables.pop()
  for (const counts of [state.total, state.cells.at(-1), state.tables.at(-1)]) change(counts, entry.name, -1)
  return entry
}

/** Closes an element of this name, and returns those opened within, innermost first. */
function popThrough<Context>(state: Nesting<Context>, name: string): OpenElement<Context>[] {
  const inner: OpenElement<Context>[] = []
  for (let entry = pop(state); entry && entry.name !== name; entry = pop(state)) inner.push(entry)
  return inner
}

function change(counts: Counts | undefined, name: string, by: number): void {
  counts?.set(name, (counts.get(name) ?? 0) + by)
}

const listNames = (names: string): ReadonlySet<string> => new Set(names.split(' '))

/** Their content is never text that a reader sees. */
export const silentElements = listNames(
  'script style head title template noscript svg math object applet select datalist iframe noembed noframes textarea audio video canvas map progress meter rp',
)
/** They have no content (HTML §13.1.2). */
export const voidElements = listNames('area base br col embed hr img input link meta param source track wbr')

/** Line ends around an element; between two elements the larger counts. */
export const blockBreaks: ReadonlyMap<string, number> = new Map([
  ...'li tr div table dt dd figcaption summary option center'.split(' ').map(name => [name, 1] as const),
  ...'p hr ul ol dl blockquote pre h1 h2 h3 h4 h5 h6 section article header footer main aside nav form fieldset figure details address'
    .split(' ')
    .map(name => [name, 2] as const),
])

/** Their start tag ends an open paragraph (HTML §13.2.6.4.7). */
const endsParagraph = listNames(
  'address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr li main menu nav ol p pre section summary ul dt dd',
)
/** They go on behind the end of the element they stand in, until their own end tag comes (HTML §13.2.4.3). */
const formattingElements = listNames('a b big code em font i nobr s small strike strong tt u')
/** An end tag does not reach an element outside of these (HTML §13.2.4.2). */
const scopeElements = listNames('table td th caption template object applet marquee')
const tableElements = listNames('tr td th tbody thead tfoot caption')

/**
 * Characters that show nothing and can carry words only a machine reads: tags (U+E0000), zero-width spaces and joiners of words,
 * fillers, variation selectors of Mongolian, direction overrides. ZWJ and ZWNJ stay: emoji and several scripts need them, and so do the
 * flags of England, Scotland and Wales, made of a black one and tags.
 */
const invisible =
  /(\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{1,6}\u{e007f})|\u034f|\u180e|[\u180b-\u180d]|[\u00ad\u061c\u115f\u1160\u17b4\u17b5\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu
/** Line feed and tab stay. */
const controls = /[^\P{Cc}\n\t]/gu
const isPlain = /^[\x20-\x7e\n\t]*$/

/** Takes out what a human reader would not have seen. `invisible`: characters that were taken out. */
export function readVisibleCharacters(text: string) {
  if (isPlain.test(text)) return { text, invisible: 0 }
  let count = 0
  const visible = text.replace(invisible, (_, flag?: string) => {
    if (flag === undefined) count += 1
    return flag ?? ''
  })
  return { text: visible.replace(controls, ''), invisible: count }
}

/** A list that text stands in. */
export interface OpenList {
  /** The next number; undefined where items are not numbered. */
  number: number | undefined
  /** From 1, for a list in no other. */
  readonly depth: number
}

/** Deeper ones are not indented further. */
const maxListDepth = 16

/** The list inside of an element. */
export function openList(name: string, attributes: HtmlAttributes, outer: OpenList | undefined): OpenList | undefined {
  if (name !== 'ul' && name !== 'ol') return outer
  const depth = Math.min((outer?.depth ?? 0) + 1, maxListDepth)
  return { number: name === 'ol' ? readStart(attributes.get('start')) : undefined, depth }
}

/** What stands before the next item. */
export function nextMark(list: OpenList | undefined): string {
  if (list?.number === undefined) return '- '
  list.number += 1
  return `${list.number - 1}. `
}

function readStart(text: string | undefined): number {
  return text && /^\d{1,6}$/.test(text) ? Number(text) : 1
}
