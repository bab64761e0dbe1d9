import type { StyledElement } from '../css/selectors.ts'
import type { StyleRule } from '../css/style-sheet.ts'
import { createCascade, matchesMedia, parseStyleSheets } from '../css/style-sheet.ts'
import type { HtmlAttributes, HtmlReader } from '../elements/elements.ts'
import { blockBreaks, createOpenElements, silentElements, tokenizeHtml, voidElements } from '../elements/elements.ts'
import { hidesByProperty, listInlineStyles, listOwnStyles, readVisual } from '../hidden/read-visual.ts'
import type { Visual } from '../hidden/visual.ts'
import { isHiding, mayBeHiding, parseColour, plainVisual } from '../hidden/visual.ts'
import type { LinkOptions, OpenList, TextSheet } from '../text/text-sheet.ts'
import { createLinkWriter, createTextSheet, nextMark, openList, readVisibleCharacters } from '../text/text-sheet.ts'

/**
 * Plain text of HTML in one pass: paragraphs, lists, quotes and `pre` kept as lines, links with their address. Nothing is fetched. Text
 * that a reader does not see is left out and reported: by attributes, inline styles and style sheets, with inheritance and cascade.
 */
export function htmlToText(html: string, options: HtmlTextOptions = {}): HtmlText {
  const writer = createHtmlTextWriter(html, options)
  tokenizeHtml(html, writer)
  return writer.end()
}

/** The surroundings of a text. */
interface TextPlace extends StyledPlace {
  /** Never text: a script, or an element that the options leave out. */
  readonly isSilent: boolean
  readonly list: OpenList | undefined
  readonly quotes: number
}

/** Deeper ones look the same. */
const maxQuotes = 8

interface TextWriter extends HtmlReader {
  end(): HtmlText
}

interface WriterState {
  readonly options: HtmlTextOptions
  readonly sheet: TextSheet
  readonly styles: ReturnType<typeof createStyleReader>
  readonly open: ReturnType<typeof createOpenElements<TextPlace>>
  readonly links: ReturnType<typeof createLinkWriter>
  hasHidden: boolean
  invisible: number
  /** `omit` has ended the text. */
  isOver: boolean
}

/** Writes the tokens of a document as text. */
function createHtmlTextWriter(html: string, options: HtmlTextOptions): TextWriter {
  const sheet = createTextSheet()
  const styles = createStyleReader(html, options)
  const open = createOpenElements<TextPlace>({ ...styles.root, isSilent: false, list: undefined, quotes: 0 })
  const links = createLinkWriter(sheet, options)
  const state: WriterState = { options, sheet, styles, open, links, hasHidden: false, invisible: 0, isOver: false }
  return {
    isForeign: () => open.has('svg') || open.has('math'),
    text(text) {
      const place = open.context()
      if (!state.isOver && !place.isSilent) write(state, text, place)
    },
    open(name, attributes) {
      if (state.isOver || options.omit?.(name, attributes) === 'rest') state.isOver = true
      else {
        breakFor(state, name)
        if (voidElements.has(name)) openVoid(state, name)
        else openElement(state, name, attributes)
      }
    },
    close(name) {
      if (state.isOver) return
      if (name === 'a' && !open.context().isSilent) state.hasHidden = links.close() || state.hasHidden
      // Browsers make an element of the end tag alone.
      if (name === 'br') openVoid(state, name)
      if (open.has(name) || name === 'p') breakFor(state, name)
      if (open.leave(name)) breakFor(state, name)
    },
    end() {
      state.hasHidden = links.close() || state.hasHidden || styles.isExhausted()
      return { text: links.withoutAddress(sheet.toString()), hasHidden: state.hasHidden, invisible: state.invisible }
    },
  }
}

function write(state: WriterState, raw: string, { visual, quotes, list }: TextPlace): void {
  const { sheet, links } = state
  const read = readVisibleCharacters(raw)
  state.invisible += read.invisible
  const isHidden = isHiding(visual)
  const isBlank = read.text.trim() === ''
  const isOfLink = links.take(read.text, isHidden && !isBlank)
  if (!isBlank && (isHidden ? !isOfLink : mayBeHiding(visual))) state.hasHidden = true
  if (isHidden) return
  sheet.setPrefix('> '.repeat(quotes) + '  '.repeat(Math.max(0, (list?.depth ?? 0) - 1)))
  sheet.append(visual.isVerbatim ? read.text : read.text.replace(/[ \t\r\n\u00a0]+/g, ' '), visual.isVerbatim)
}

function describe(state: WriterState, name: string, attributes: HtmlAttributes, outer: TextPlace): TextPlace {
  const { options, styles } = state
  const isSilent = outer.isSilent || silentElements.has(name) || options.omit?.(name, attributes) === 'element'
  if (isSilent) return { ...outer, isSilent }
  const isQuote = name === 'blockquote' || options.isQuote?.(name, attributes) === true
  const quotes = isQuote ? Math.min(outer.quotes + 1, maxQuotes) : outer.quotes
  return { ...outer, ...styles.read(name, attributes, outer), list: openList(name, attributes, outer.list), quotes }
}

function breakFor(state: WriterState, name: string): void {
  const { open, sheet } = state
  const { list, isSilent } = open.context()
  if (isSilent) return
  const isInner = (name === 'ul' || name === 'ol') && list !== undefined
  sheet.breakLines(isInner ? 1 : (blockBreaks.get(name) ?? 0))
}

function openVoid(state: WriterState, name: string): void {
  const { open, sheet } = state
  if (open.context().isSilent || isHiding(open.context().visual)) return
  if (name === 'br') sheet.addBreak()
  if (name !== 'hr' || sheet.isEmpty()) return
  sheet.append('---')
  sheet.breakLines(2)
}

function openElement(state: WriterState, name: string, attributes: HtmlAttributes): void {
  const { open, sheet, links } = state
  const outer = open.context()
  open.enter(name, from => describe(state, name, attributes, from))
  const { list, isSilent, quotes } = open.context()
  if (isSilent) return
  if (quotes > outer.quotes) sheet.breakLines(2)
  if (name === 'li') sheet.setMark(nextMark(list))
  if (name === 'td' || name === 'th') sheet.setGap(' ')
  if (name === 'a') state.hasHidden = links.open(attributes, isHiding(open.context().visual)) || state.hasHidden
}

/** Text of HTML, and what was taken out of it because a reader does not see it. */
export interface HtmlText {
  readonly text: string
  /** True when words were hidden, or when what hides them cannot be known here. */
  readonly hasHidden: boolean
  /** Characters that show nothing and were taken out. */
  readonly invisible: number
}

export interface HtmlTextOptions extends LinkOptions {
  /** Classes that hide an element without a style sheet, by what the network agreed on. */
  readonly hidingClasses?: ReadonlySet<string> | undefined
  /** Does an element hold a quotation, as a `blockquote` does? */
  readonly isQuote?: ((name: string, attributes: HtmlAttributes) => boolean) | undefined
  /** Leaves out an element, or it and all that comes after it. */
  readonly omit?: ((name: string, attributes: HtmlAttributes) => 'element' | 'rest' | undefined) | undefined
}

/** What an element is to what stands in it, by its styles. */
interface StyledPlace {
  readonly visual: Visual
  /** Absent where no style sheet asks for it. */
  readonly element: ParentElement | undefined
}

interface ParentElement extends StyledElement {
  lastChild: StyledElement | undefined
}

/** They have a look of their own. */
const specialElements: ReadonlySet<string> = new Set(['pre', 'details', 'dialog'])
/** Attributes that decide how an element looks. */
const stylingAttributes: ReadonlySet<string> = new Set([
  'style',
  'hidden',
  'popover',
  'bgcolor',
  'background',
  'color',
  'text',
])
/** As browsers begin it (HTML §15.3.4). */
const linkColour = parseColour('#0000ee')
const noOne: ReadonlySet<string> = new Set()

/** Judges how elements look, with the style sheets of their document. */
function createStyleReader(html: string, { hidingClasses = noOne }: HtmlTextOptions) {
  const rules = readSheets(html)
  // Most posts have no styles at all.
  let cascade: ReturnType<typeof createCascade> | undefined
  const top: ParentElement = makeElement('', new Map(), noOne, undefined)

  function readStyles(element: ParentElement, outer: Visual): Visual {
    const isStyled = rules.length > 0 || hasStyle(element)
    const visual = isStyled ? readStyled(element, outer) : readUnstyled(element, outer)
    const isGone = [...element.classes].some(each => hidingClasses.has(each))
    return isGone ? { ...visual, isGone } : visual
  }

  const readStyled = rules.length === 0 ? rememberRepeated(computeStyled) : computeStyled

  function computeStyled(element: ParentElement, outer: Visual): Visual {
    const { name, attributes } = element
    cascade ??= createCascade(rules)
    const own = listOwnStyles(name, attributes)
    const { sure, possible } = cascade.stylesOf(element, { own, inline: listInlineStyles(attributes) })
    const visual = readVisual(outer, sure, name)
    const isDoubtful = possible !== undefined && !isHiding(visual) && isHiding(readVisual(outer, possible, name))
    return isDoubtful ? { ...visual, isDoubtful } : visual
  }

  function read(name: string, attributes: HtmlAttributes, outer: StyledPlace): StyledPlace {
    const isPlain = attributes.size === 0 && rules.length === 0 && !outer.visual.fold && !specialElements.has(name)
    if (isPlain) return outer
    const parent = outer.element ?? top
    const element = makeElement(name, attributes, classesOf(attributes), rules.length > 0 ? parent : undefined)
    if (rules.length > 0) parent.lastChild = element
    return {
      visual: readFold(name, attributes, readStyles(element, outer.visual), outer.visual),
      element: rules.length > 0 ? element : undefined,
    }
  }

  const bare: StyledPlace = { visual: plainVisual, element: undefined }
  let page = read('html', new Map(), bare)
  const root = read('body', new Map(), page)

  /** Written elements take the place of those two; further ones browsers do not make. */
  function readPage(name: string, attributes: HtmlAttributes, outer: StyledPlace): StyledPlace {
    if (rules.length > 0 && outer.element !== root.element && outer.element !== page.element) return outer
    if (rules.length === 0) return read(name, attributes, outer)
    if (name === 'body') return read(name, attributes, page)
    page = read(name, attributes, bare)
    return page
  }

  return {
    /** The `html` and `body` that browsers make where a document has none. */
    root,
    read: (name: string, attributes: HtmlAttributes, outer: StyledPlace): StyledPlace =>
      name === 'html' || name === 'body' ? readPage(name, attributes, outer) : read(name, attributes, outer),
    /** True when the style sheets were too much to be judged. */
    isExhausted: () => cascade?.isExhausted() === true,
  }
}

type ReadVisual = (element: ParentElement, outer: Visual) => Visual

/** Mail programs repeat the style of a paragraph at the next one: without style sheets it looks the same. */
function rememberRepeated(compute: ReadVisual): ReadVisual {
  let last:
    | { readonly name: string; readonly style: string; readonly outer: Visual; readonly visual: Visual }
    | undefined
  return (element, outer) => {
    const { name, attributes } = element
    const style = attributes.size === 1 ? attributes.get('style') : undefined
    if (style === undefined) return compute(element, outer)
    if (last?.style !== style || last.name !== name || last.outer !== outer)
      last = { name, style, outer, visual: compute(element, outer) }
    return last.visual
  }
}

function hasStyle({ name, attributes }: StyledElement): boolean {
  return specialElements.has(name) || [...attributes.keys()].some(each => stylingAttributes.has(each))
}

function readUnstyled({ name, attributes }: StyledElement, outer: Visual): Visual {
  return name === 'a' && attributes.has('href') ? { ...outer, colour: linkColour } : outer
}

/** A closed `details` shows its first summary only (HTML §4.11.1). */
function readFold(name: string, attributes: HtmlAttributes, visual: Visual, { fold: outer }: Visual): Visual {
  const fold = name === 'details' && !attributes.has('open') ? { isSummaryRead: false } : undefined
  const isSummary = name === 'summary' && outer?.isSummaryRead === false
  if (outer && isSummary) outer.isSummaryRead = true
  if (!outer || isSummary) return fold === visual.fold ? visual : { ...visual, fold }
  return { ...visual, fold, isGone: true }
}

function makeElement(
  name: string,
  attributes: HtmlAttributes,
  classes: ReadonlySet<string>,
  parent: ParentElement | undefined,
): ParentElement {
  const previous = parent?.lastChild
  const index = (previous?.index ?? 0) + 1
  return { name, attributes, classes, id: attributes.get('id'), parent, previous, index, lastChild: undefined }
}

function classesOf(attributes: HtmlAttributes): ReadonlySet<string> {
  const names = attributes.get('class')
  return names ? new Set(names.split(/\s+/, 64)) : noOne
}

/** Sheets are read up to here, all together. */
const maxSheets = 256 * 1024

/** What the `style` elements of a document declare; a sheet may stand behind what it styles. */
function readSheets(html: string): readonly StyleRule[] {
  if (!/<style[\s/>]/i.test(html)) return []
  const sheets: string[] = []
  let isStyle = false
  let room = maxSheets
  let foreign = 0
  tokenizeHtml(html, {
    open(name, attributes) {
      isStyle = name === 'style' && matchesMedia(attributes.get('media') ?? '')
      if (name === 'svg' || name === 'math') foreign += 1
    },
    close(name) {
      isStyle = false
      if ((name === 'svg' || name === 'math') && foreign > 0) foreign -= 1
    },
    text(text) {
      if (!isStyle || room <= 0) return
      sheets.push(text.slice(0, room).replace(/<!--|-->/g, ' '))
      room -= text.length
    },
    isForeign: () => foreign > 0,
  })
  return parseStyleSheets(sheets, hidesByProperty)
}
