import type { StyledElement } from '../css/selectors.ts'
import type { StyleRule } from '../css/style-sheet.ts'
import { createCascade, matchesMedia, parseStyleSheets } from '../css/style-sheet.ts'
import type { HtmlAttributes } from '../elements/elements.ts'
import { tokenizeHtml } from '../elements/elements.ts'
import { hidesByProperty, listInlineStyles, listOwnStyles, readVisual } from '../hidden/read-visual.ts'
import type { Visual } from '../hidden/visual.ts'
import { isHiding, parseColour, plainVisual } from '../hidden/visual.ts'

export interface HidingOptions {
  /** Classes that hide an element without a style sheet, by what the network agreed on. */
  readonly hidingClasses?: ReadonlySet<string> | undefined
}

/** What an element is to what stands in it, by its styles. */
export interface StyledPlace {
  readonly visual: Visual
  /** Absent where no style sheet asks for it. */
  readonly element: ParentElement | undefined
}

interface ParentElement extends StyledElement {
  lastChild: StyledElement | undefined
}

/** They have a look of their own. */
export const specialElements: ReadonlySet<string> = new Set(['pre', 'details', 'dialog'])
/** Attributes that decide how an element looks. */
export const stylingAttributes: ReadonlySet<string> = new Set([
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
/** Of one element. */
export const maxClasses = 64
const noOne: ReadonlySet<string> = new Set()

/** The look of what stands in no element, and in no style. */
export const bare: StyledPlace = { visual: plainVisual, element: undefined }
/** The look of a link in it. */
export const bareLink: StyledPlace = { visual: { ...plainVisual, colour: linkColour }, element: undefined }

/** Judges how elements look, with the style sheets of their document. */
export function createStyleReader(html: string, { hidingClasses = noOne }: HidingOptions) {
  const rules = readSheets(html)
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
  return names ? new Set(names.split(/\s+/, maxClasses)) : noOne
}

/** Sheets are read up to here, all together. */
const maxSheets = 256 * 1024
/** A document without it has no style sheets. */
export const styleElement = /<style[\s/>]/i

/** What the `style` elements of a document declare; a sheet may stand behind what it styles. */
function readSheets(html: string): readonly StyleRule[] {
  if (!styleElement.test(html)) return []
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
