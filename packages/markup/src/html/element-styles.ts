// Computes the look of each element of an HTML document from its attributes, styles and style sheets.
import type { StyledElement } from '../css/selectors.ts'
import type { StyleRule } from '../css/style-sheet.ts'
import { createCascade, matchesMedia, parseStyleSheets } from '../css/style-sheet.ts'
import type { HtmlAttributes } from '../elements/elements.ts'
import { tokenizeHtml } from '../elements/elements.ts'
import { affectsVisibility, listDefaultStyles, listInlineStyles, readVisual } from '../hidden/read-visual.ts'
import type { Visual } from '../hidden/visual.ts'
import { hidesText, parseColour, plainVisual } from '../hidden/visual.ts'

export interface HidingOptions {
  /** Classes that hide an element even without a style sheet, by convention of the network. */
  readonly hidingClasses?: ReadonlySet<string> | undefined
}

/** The style context that an element gives to its content. */
export interface StyleContext {
  readonly visual: Visual
  /** The element. Absent if no style sheet needs it. */
  readonly element: ParentElement | undefined
}

interface ParentElement extends StyledElement {
  lastChild: StyledElement | undefined
}

/** Elements that browsers show in a special way. */
export const specialElements: ReadonlySet<string> = new Set(['pre', 'details', 'dialog'])
/** Attributes that affect the look of an element. */
export const stylingAttributes: ReadonlySet<string> = new Set([
  'style',
  'hidden',
  'popover',
  'bgcolor',
  'background',
  'color',
  'text',
])
/** The colour of links in browsers (HTML §15.3.4). */
const linkColour = parseColour('#0000ee')
/** The maximum number of classes of one element. */
export const maxClasses = 64
const noClasses: ReadonlySet<string> = new Set()

/** The look of text outside all elements, without any style. */
export const plainContext: StyleContext = { visual: plainVisual, element: undefined }
/** The look of a link in text outside all elements, without any style. */
export const linkContext: StyleContext = { visual: { ...plainVisual, colour: linkColour }, element: undefined }

/** Creates a reader of the look of elements, with the style sheets of their document. */
export function createStyleReader(html: string, { hidingClasses = noClasses }: HidingOptions) {
  const rules = readSheets(html)
  let cascade: ReturnType<typeof createCascade> | undefined
  const documentRoot: ParentElement = createElement('', new Map(), noClasses, undefined)

  function readStyles(element: ParentElement, outer: Visual): Visual {
    const isStyled = rules.length > 0 || hasStyle(element)
    const visual = isStyled ? readStyled(element, outer) : readUnstyled(element, outer)
    const isGone = [...element.classes].some(className => hidingClasses.has(className))
    return isGone ? { ...visual, isGone } : visual
  }

  const readStyled = rules.length === 0 ? cacheVisuals(computeStyled) : computeStyled

  function computeStyled(element: ParentElement, outer: Visual): Visual {
    const { name, attributes } = element
    cascade ??= createCascade(rules)
    const { certainStyles, possibleStyles } = cascade.stylesOf(element, {
      elementDeclarations: listDefaultStyles(name, attributes),
      styleDeclarations: listInlineStyles(attributes),
    })
    const visual = readVisual(outer, certainStyles, name)
    const isDoubtful =
      possibleStyles !== undefined && !hidesText(visual) && hidesText(readVisual(outer, possibleStyles, name))
    return isDoubtful ? { ...visual, isDoubtful } : visual
  }

  function readElement(name: string, attributes: HtmlAttributes, outer: StyleContext): StyleContext {
    const isPlain = attributes.size === 0 && rules.length === 0 && !outer.visual.fold && !specialElements.has(name)
    if (isPlain) return outer
    const parent = outer.element ?? documentRoot
    const element = createElement(name, attributes, classesOf(attributes), rules.length > 0 ? parent : undefined)
    if (rules.length > 0) parent.lastChild = element
    return {
      visual: readFold(name, attributes, readStyles(element, outer.visual), outer.visual),
      element: rules.length > 0 ? element : undefined,
    }
  }

  let page = readElement('html', new Map(), plainContext)
  const root = readElement('body', new Map(), page)

  /** Reads the page elements. `html` and `body` in the document replace the implied elements, and browsers create no further ones. */
  function readPage(name: string, attributes: HtmlAttributes, outer: StyleContext): StyleContext {
    if (rules.length > 0 && outer.element !== root.element && outer.element !== page.element) return outer
    if (rules.length === 0) return readElement(name, attributes, outer)
    if (name === 'body') return readElement(name, attributes, page)
    page = readElement(name, attributes, plainContext)
    return page
  }

  return {
    /** The `html` and `body` that browsers create for a document that has none. */
    root,
    read: (name: string, attributes: HtmlAttributes, outer: StyleContext): StyleContext =>
      name === 'html' || name === 'body' ? readPage(name, attributes, outer) : readElement(name, attributes, outer),
    /** Returns true if the style sheets exceeded the budget, so that the look of elements is uncertain. */
    isExhausted: () => cascade?.isExhausted() === true,
  }
}

type ReadVisual = (element: ParentElement, outer: Visual) => Visual

/** The maximum number of cached looks, and the longest style of a cached look in characters. */
const [maxCachedVisuals, maxCachedChars] = [1000, 1024]
/** The looks of elements by the look of the outer element, and then by name and style. Outer looks include cached ones. */
let cachedVisuals = new WeakMap<Visual, Map<string, Visual>>()
let cachedVisualCount = 0

/**
 * Caches looks for all documents, because mail programs repeat the style of a paragraph at the next one and in the next mail. Without style
 * sheets, the same style in the same place looks the same. A full cache begins anew.
 */
function cacheVisuals(compute: ReadVisual): ReadVisual {
  return (element, outer) => {
    const { name, attributes } = element
    const style = attributes.size === 1 ? attributes.get('style') : undefined
    if (style === undefined || style.length > maxCachedChars || outer.fold) return compute(element, outer)
    const key = `${name} ${style}`
    const visual = cachedVisuals.get(outer)?.get(key)
    if (visual) return visual
    const newVisual = compute(element, outer)
    addVisual(outer, key, newVisual)
    return newVisual
  }
}

function addVisual(outer: Visual, key: string, visual: Visual): void {
  if (cachedVisualCount >= maxCachedVisuals) {
    cachedVisuals = new WeakMap()
    cachedVisualCount = 0
  }
  const visuals = cachedVisuals.get(outer) ?? new Map<string, Visual>()
  cachedVisuals.set(outer, visuals.set(key, visual))
  cachedVisualCount += 1
}

function hasStyle({ name, attributes }: StyledElement): boolean {
  return specialElements.has(name) || [...attributes.keys()].some(attributeName => stylingAttributes.has(attributeName))
}

function readUnstyled({ name, attributes }: StyledElement, outer: Visual): Visual {
  return name === 'a' && attributes.has('href') ? { ...outer, colour: linkColour } : outer
}

/** Reads the fold of a `details` element. A closed element shows only its first summary (HTML §4.11.1). */
function readFold(name: string, attributes: HtmlAttributes, visual: Visual, { fold: outer }: Visual): Visual {
  const fold = name === 'details' && !attributes.has('open') ? { isSummaryRead: false } : undefined
  const isSummary = name === 'summary' && outer?.isSummaryRead === false
  if (outer && isSummary) outer.isSummaryRead = true
  if (!outer || isSummary) return fold === visual.fold ? visual : { ...visual, fold }
  return { ...visual, fold, isGone: true }
}

function createElement(
  name: string,
  attributes: HtmlAttributes,
  classes: ReadonlySet<string>,
  parent: ParentElement | undefined,
): ParentElement {
  const precedingElement = parent?.lastChild
  const index = (precedingElement?.index ?? 0) + 1
  return {
    name,
    attributes,
    classes,
    id: attributes.get('id'),
    parent,
    precedingElement,
    index,
    lastChild: undefined,
  }
}

function classesOf(attributes: HtmlAttributes): ReadonlySet<string> {
  const names = attributes.get('class')
  return names ? new Set(names.split(/\s+/, maxClasses)) : noClasses
}

/** The maximum size of all style sheets together, in characters. Further text is ignored. */
const maxSheetChars = 256 * 1024
/** Matches a `style` element. A document without a match has no style sheets. */
export const styleElementPattern = /<style[\s/>]/i

/** Reads the `style` elements of a document first, because a sheet may follow the elements that it styles. */
function readSheets(html: string): readonly StyleRule[] {
  if (!styleElementPattern.test(html)) return []
  const sheets: string[] = []
  let isStyle = false
  let remainingChars = maxSheetChars
  let foreignDepth = 0
  tokenizeHtml(html, {
    open(name, attributes) {
      isStyle = name === 'style' && matchesMedia(attributes.get('media') ?? '')
      if (name === 'svg' || name === 'math') foreignDepth += 1
    },
    close(name) {
      isStyle = false
      if ((name === 'svg' || name === 'math') && foreignDepth > 0) foreignDepth -= 1
    },
    text(text) {
      if (!isStyle || remainingChars <= 0) return
      sheets.push(text.slice(0, remainingChars))
      remainingChars -= text.length
    },
    isForeign: () => foreignDepth > 0,
  })
  return parseStyleSheets(sheets, affectsVisibility)
}
