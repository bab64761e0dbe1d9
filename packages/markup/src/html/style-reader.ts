import { createCascade } from '../css/cascade.ts'
import { parseColour } from '../css/colours.ts'
import type { StyledElement } from '../css/selectors.ts'
import type { HtmlAttributes } from '../elements/tokenize-html.ts'
import { listInlineStyles, listOwnStyles } from '../hidden/element-styles.ts'
import { readVisual } from '../hidden/read-visual.ts'
import type { Visual } from '../hidden/visual.ts'
import { isHiding, plainVisual } from '../hidden/visual.ts'
import type { HtmlTextOptions } from './html-text.ts'
import { readSheets } from './read-sheets.ts'

/** What an element is to what stands in it, by its styles. */
export interface StyledPlace {
  readonly visual: Visual
  /** Absent where no style sheet asks for it. */
  readonly element: ParentElement | undefined
}

interface ParentElement extends StyledElement {
  lastChild: StyledElement | undefined
}

interface StyleReader {
  /** The `html` and `body` that browsers make where a document has none. */
  readonly root: StyledPlace
  read(name: string, attributes: HtmlAttributes, outer: StyledPlace): StyledPlace
  /** True when the style sheets were too much to be judged. */
  isExhausted(): boolean
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
export function createStyleReader(html: string, { hidingClasses = noOne }: HtmlTextOptions): StyleReader {
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
    root,
    read: (name, attributes, outer) =>
      name === 'html' || name === 'body' ? readPage(name, attributes, outer) : read(name, attributes, outer),
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
