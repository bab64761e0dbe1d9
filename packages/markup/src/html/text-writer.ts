import { blockBreaks, silentElements, voidElements } from '../elements/kinds.ts'
import { createOpenElements } from '../elements/open-elements.ts'
import type { HtmlAttributes, HtmlReader } from '../elements/tokenize-html.ts'
import { isHiding, mayBeHiding } from '../hidden/visual.ts'
import { readVisibleCharacters } from '../text/invisible-characters.ts'
import type { TextSheet } from '../text/text-sheet.ts'
import { createTextSheet } from '../text/text-sheet.ts'
import type { HtmlText, HtmlTextOptions } from './html-text.ts'
import { createLinkWriter } from './links.ts'
import type { OpenList } from './lists.ts'
import { nextMark, openList } from './lists.ts'
import type { StyledPlace } from './style-reader.ts'
import { createStyleReader } from './style-reader.ts'

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
export function createHtmlTextWriter(html: string, options: HtmlTextOptions): TextWriter {
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
