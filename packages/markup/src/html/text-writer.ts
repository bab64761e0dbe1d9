import { blockBreaks, silentElements, voidElements } from '../elements/kinds.ts'
import { createOpenElements } from '../elements/open-elements.ts'
import type { HtmlAttributes, HtmlReader } from '../elements/tokenize-html.ts'
import { isHiding, mayBeHiding } from '../hidden/visual.ts'
import { readVisibleCharacters } from '../text/invisible-characters.ts'
import { createTextSheet } from '../text/text-sheet.ts'
import type { HtmlText, HtmlTextOptions } from './html-text.ts'
import { createLinkWriter } from './links.ts'
import type { OpenList } from './lists.ts'
import { nextMark, openList } from './lists.ts'
import type { StyledPlace } from './style-reader.ts'
import { createStyleReader } from './style-reader.ts'

/** What text stands in. */
interface TextPlace extends StyledPlace {
  /** Never text: a script, what was asked to be left out. */
  readonly isSilent: boolean
  readonly list: OpenList | undefined
  readonly quotes: number
}

/** Deeper ones look the same. */
const maxQuotes = 8

interface TextWriter extends HtmlReader {
  end(): HtmlText
}

/** Writes the tokens of a document as text. */
export function createTextWriter(html: string, options: HtmlTextOptions): TextWriter {
  const sheet = createTextSheet()
  const styles = createStyleReader(html, options)
  const open = createOpenElements<TextPlace>({ ...styles.root, isSilent: false, list: undefined, quotes: 0 })
  const links = createLinkWriter(sheet, options)
  let hasHidden = false
  let invisible = 0
  let isOver = false

  function write(raw: string, { visual, quotes, list }: TextPlace): void {
    const read = readVisibleCharacters(raw)
    invisible += read.invisible
    const isHidden = isHiding(visual)
    const isBlank = read.text.trim() === ''
    const isOfLink = links.take(read.text, isHidden && !isBlank)
    if (!isBlank && (isHidden ? !isOfLink : mayBeHiding(visual))) hasHidden = true
    if (isHidden) return
    sheet.setPrefix('> '.repeat(quotes) + '  '.repeat(Math.max(0, (list?.depth ?? 0) - 1)))
    sheet.append(visual.isVerbatim ? read.text : read.text.replace(/[ \t\r\n\u00a0]+/g, ' '), visual.isVerbatim)
  }

  function describe(name: string, attributes: HtmlAttributes, outer: TextPlace): TextPlace {
    const isSilent = outer.isSilent || silentElements.has(name) || options.omit?.(name, attributes) === 'element'
    if (isSilent) return { ...outer, isSilent }
    const isQuote = name === 'blockquote' || options.isQuote?.(name, attributes) === true
    const quotes = isQuote ? Math.min(outer.quotes + 1, maxQuotes) : outer.quotes
    return { ...outer, ...styles.read(name, attributes, outer), list: openList(name, attributes, outer.list), quotes }
  }

  function breakFor(name: string): void {
    const { list, isSilent } = open.context()
    if (isSilent) return
    const isInner = (name === 'ul' || name === 'ol') && list !== undefined
    sheet.breakLines(isInner ? 1 : (blockBreaks.get(name) ?? 0))
  }

  function openVoid(name: string): void {
    if (open.context().isSilent || isHiding(open.context().visual)) return
    if (name === 'br') sheet.addBreak()
    if (name !== 'hr' || sheet.isEmpty()) return
    sheet.append('---')
    sheet.breakLines(2)
  }

  function openElement(name: string, attributes: HtmlAttributes): void {
    const outer = open.context()
    open.enter(name, from => describe(name, attributes, from))
    const { list, isSilent, quotes } = open.context()
    if (isSilent) return
    if (quotes > outer.quotes) sheet.breakLines(2)
    if (name === 'li') sheet.setMark(nextMark(list))
    if (name === 'td' || name === 'th') sheet.setGap(' ')
    if (name === 'a') hasHidden = links.open(attributes, isHiding(open.context().visual)) || hasHidden
  }

  return {
    isForeign: () => open.has('svg') || open.has('math'),
    text(text) {
      const place = open.context()
      if (!isOver && !place.isSilent) write(text, place)
    },
    open(name, attributes) {
      if (isOver || options.omit?.(name, attributes) === 'rest') isOver = true
      else {
        breakFor(name)
        if (voidElements.has(name)) openVoid(name)
        else openElement(name, attributes)
      }
    },
    close(name) {
      if (isOver) return
      if (name === 'a' && !open.context().isSilent) hasHidden = links.close() || hasHidden
      // Browsers make an element of its end alone.
      if (name === 'br') openVoid(name)
      if (open.has(name) || name === 'p') breakFor(name)
      if (open.leave(name)) breakFor(name)
    },
    end() {
      hasHidden = links.close() || hasHidden || styles.isExhausted()
      return { text: links.withoutAddress(sheet.toString()), hasHidden, invisible }
    },
  }
}
