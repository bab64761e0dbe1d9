// Converts HTML to plain text, and leaves out text that a reader of the page could not see.

import { readVisibleText } from '@postern/message/visible-text'
import type { HtmlAttributes, HtmlReader, OpenList } from '../elements/elements.ts'
import {
  blockBreaks,
  createOpenElements,
  findContentList,
  silentElements,
  takeItemMark,
  tokenizeHtml,
  voidElements,
} from '../elements/elements.ts'
import type { Visual } from '../hidden/visual.ts'
import { hidesText, mayHideText } from '../hidden/visual.ts'
import type { HidingOptions, StyleContext } from './element-styles.ts'
import {
  createStyleReader,
  linkContext,
  maxClasses,
  plainContext,
  specialElements,
  styleElementPattern,
  stylingAttributes,
} from './element-styles.ts'
import { bracketAlternative, createMarkWriter, readAlternative, readCheckMark } from './inline-marks.ts'
import type { LinkOptions } from './link-writer.ts'
import { createLinkWriter } from './link-writer.ts'
import type { MathReader } from './math-reader.ts'
import { createMathReader } from './math-reader.ts'
import type { TextSheet } from './text-sheet.ts'
import { createTextSheet } from './text-sheet.ts'

/**
 * Converts HTML to plain text in one pass. Paragraphs, lists, quotes and `pre` become lines, and links keep their address. Invisible characters stay.
 * Nothing is fetched. Text that a reader does not see is left out and reported, whether attributes, inline styles or style sheets hide it, with
 * inheritance and cascade.
 */
export function htmlToText(html: string, options: HtmlTextOptions = {}): HtmlText {
  const writer = createHtmlTextWriter(html, options)
  tokenizeHtml(html, writer)
  return writer.end()
}

/** The context of a text. */
interface TextContext extends StyleContext {
  /** True for content that is never text, such as a script, and for elements that the options leave out. */
  readonly isSilent: boolean
  readonly list: OpenList | undefined
  readonly quotes: number
}

/** The maximum number of nested quotes with marks. */
const maxQuotes = 8

interface WriterState {
  readonly html: string
  readonly options: HtmlTextOptions
  readonly sheet: TextSheet
  readonly hasSheets: boolean
  /** The reader of styles. Absent until an element has a style, because most posts have none. */
  styles: ReturnType<typeof createStyleReader> | undefined
  readonly open: ReturnType<typeof createOpenElements<TextContext>>
  readonly links: ReturnType<typeof createLinkWriter>
  readonly marks: ReturnType<typeof createMarkWriter>
  /** The open formula. */
  math: MathReader | undefined
  hasHidden: boolean
  /** True once `omit` has ended the text. */
  isOver: boolean
}

/** Writes the tokens of a document as text. */
function createHtmlTextWriter(html: string, options: HtmlTextOptions): HtmlReader & { end(): HtmlText } {
  const sheet = createTextSheet()
  const hasSheets = styleElementPattern.test(html)
  const styles = hasSheets ? createStyleReader(html, options) : undefined
  const { root } = styles ?? { root: plainContext }
  const open = createOpenElements<TextContext>({ ...root, isSilent: false, list: undefined, quotes: 0 })
  const links = createLinkWriter(sheet, options)
  const initial = {
    marks: createMarkWriter(sheet, undefined, options.syntax?.marks),
    math: undefined,
    hasHidden: false,
    isOver: false,
  }
  const state: WriterState = { html, options, sheet, hasSheets, styles, open, links, ...initial }
  return {
    isForeign: () => open.has('svg') || open.has('math'),
    text(text) {
      const context = open.context()
      if (state.math) state.math.text(text)
      else if (!state.isOver && !context.isSilent) writeText(state, text, context)
    },
    open(name, attributes) {
      if (state.isOver || options.omit?.(name, attributes) === 'rest') state.isOver = true
      else {
        breakLinesFor(state, name)
        state.math?.open(name, attributes)
        if (voidElements.has(name)) openVoid(state, name, attributes)
        else openElement(state, name, attributes)
      }
    },
    close(name) {
      if (state.isOver) return
      if (name === 'a' && !open.context().isSilent) state.hasHidden = links.close() || state.hasHidden
      // Browsers create an element even for an end tag without a start tag.
      if (name === 'br') openVoid(state, name, noAttributes)
      closeMath(state, name)
      if (!open.context().isSilent) state.marks.close(name)
      if (open.has(name) || name === 'p') breakLinesFor(state, name)
      if (open.leave(name)) breakLinesFor(state, name)
    },
    end() {
      closeMath(state, 'math')
      state.marks.endAll()
      state.hasHidden = links.close() || state.hasHidden || state.styles?.isExhausted() === true
      return { text: links.withoutAddress(sheet.toString()), hasHidden: state.hasHidden }
    },
  }
}

/** Matches white space except single spaces, which most text consists of and which stay. */
const longSpaces = /[ \t\r\n\u00a0]{2,}|[\t\r\n\u00a0]/g

function writeText(state: WriterState, rawText: string, { visual, quotes, list }: TextContext): void {
  const { sheet, links } = state
  const isHidden = isTextHidden(visual)
  const isDoubtful = isHidden || (!isUnstyled(visual) && mayHideText(visual))
  const hidesWords = isDoubtful && readVisibleText(rawText).text.trim() !== ''
  const isInLink = links.addText(rawText, isHidden && hidesWords)
  if (hidesWords && !(isHidden && isInLink)) state.hasHidden = true
  if (isHidden) return
  sheet.next.prefix = '> '.repeat(quotes) + '  '.repeat(Math.max(0, (list?.depth ?? 0) - 1))
  const collapsedText = visual.isVerbatim ? rawText : rawText.replace(longSpaces, ' ')
  const isCode = visual.isVerbatim || state.open.has('code')
  sheet.append(
    isCode ? collapsedText : (state.options.syntax?.escape(collapsedText) ?? collapsedText),
    visual.isVerbatim,
  )
}

function isTextHidden(visual: Visual): boolean {
  return !isUnstyled(visual) && hidesText(visual)
}

/** Returns true if no style changes the text, so that everybody sees it. */
function isUnstyled(visual: Visual): boolean {
  return visual === plainContext.visual || visual === linkContext.visual
}

function describeContext(
  state: WriterState,
  name: string,
  attributes: HtmlAttributes,
  outer: TextContext,
): TextContext {
  const { options } = state
  const isOmitted = isKatexBoxes(attributes) || options.omit?.(name, attributes) === 'element'
  const isSilent = outer.isSilent || silentElements.has(name) || isOmitted
  if (isSilent) return { ...outer, isSilent }
  const isQuote = name === 'blockquote' || options.isQuote?.(name, attributes) === true
  const quotes = isQuote ? Math.min(outer.quotes + 1, maxQuotes) : outer.quotes
  return {
    ...outer,
    ...readStyle(state, name, attributes, outer),
    list: findContentList(name, attributes, outer.list),
    quotes,
  }
}

/** Returns true for the visual boxes of a formula. KaTeX writes each formula twice: as MathML and as boxes. */
function isKatexBoxes(attributes: HtmlAttributes): boolean {
  return attributes.get('class')?.trim() === 'katex-html'
}

/** Reads the look of an element. Only styled elements and their descendants need the reader of styles. */
function readStyle(state: WriterState, name: string, attributes: HtmlAttributes, outer: StyleContext): StyleContext {
  const { html, hasSheets, options } = state
  const isPlain = !hasSheets && isUnstyled(outer.visual) && !specialElements.has(name)
  if (isPlain && !hasStyling(attributes, options)) return name === 'a' && attributes.has('href') ? linkContext : outer
  state.styles ??= createStyleReader(html, options)
  return state.styles.read(name, attributes, outer)
}

function hasStyling(attributes: HtmlAttributes, { hidingClasses }: HtmlTextOptions): boolean {
  for (const name of attributes.keys()) if (stylingAttributes.has(name)) return true
  const classes = hidingClasses && attributes.get('class')
  return classes ? classes.split(/\s+/, maxClasses).some(className => hidingClasses.has(className)) : false
}

function breakLinesFor(state: WriterState, name: string): void {
  const { open, sheet } = state
  const { list, isSilent } = open.context()
  if (isSilent) return
  const isInner = (name === 'ul' || name === 'ol') && list !== undefined
  sheet.breakLines(isInner ? 1 : (blockBreaks.get(name) ?? 0))
}

const noAttributes: HtmlAttributes = new Map()

function openVoid(state: WriterState, name: string, attributes: HtmlAttributes): void {
  const { open, sheet } = state
  if (open.context().isSilent || isTextHidden(open.context().visual)) return
  if (name === 'img') writePicture(state, attributes)
  if (name === 'input') sheet.append(readCheckMark(attributes) ?? '')
  if (name === 'br') sheet.addBreak()
  if (name !== 'hr' || sheet.isEmpty()) return
  sheet.append('---')
  sheet.breakLines(2)
}

/** Writes a picture. In a link, its alternative text becomes the text of the link. */
function writePicture(state: WriterState, attributes: HtmlAttributes): void {
  const { open, sheet, links } = state
  const text = readAlternative(attributes)
  if (text === undefined || isTextHidden(describeContext(state, 'img', attributes, open.context()).visual)) return
  const inLink = links.addText(text, false)
  const pictureText = state.options.syntax?.picture(text, attributes.get('src'), inLink)
  sheet.append(pictureText ?? (inLink ? text : bracketAlternative(text)))
}

function closeMath(state: WriterState, name: string): void {
  const { math, sheet } = state
  math?.close(name)
  if (!math || name !== 'math') return
  state.math = undefined
  sheet.append(math.toString())
}

function openElement(state: WriterState, name: string, attributes: HtmlAttributes): void {
  const { open, sheet, links, options } = state
  const outer = open.context()
  open.enter(name, from => describeContext(state, name, attributes, from))
  const { list, isSilent, quotes, visual } = open.context()
  if (name === 'math' && !outer.isSilent && !isTextHidden(visual)) state.math = createMathReader(attributes)
  if (isSilent) return
  const heading = options.syntax?.headings.get(name)
  if (heading !== undefined) sheet.next.mark = heading
  state.marks.open(name)
  if (quotes > outer.quotes) sheet.breakLines(2)
  if (name === 'li') sheet.next.mark = takeItemMark(list)
  if (name === 'td' || name === 'th') sheet.next.gap = ' '
  if (name === 'a') state.hasHidden = links.open(attributes, isTextHidden(open.context().visual)) || state.hasHidden
}

/** The text of HTML, without the text that a reader does not see. */
interface HtmlText {
  readonly text: string
  /** True if words were hidden, or if the gateway cannot determine whether a reader sees them. */
  readonly hasHidden: boolean
}

export interface HtmlTextOptions extends LinkOptions, HidingOptions {
  /** Returns true if an element contains a quotation, as a `blockquote` does. */
  readonly isQuote?: ((name: string, attributes: HtmlAttributes) => boolean) | undefined
  /** Returns `element` to leave out an element, or `rest` to leave out the element with everything after it. */
  readonly omit?: ((name: string, attributes: HtmlAttributes) => 'element' | 'rest' | undefined) | undefined
}
