import type { Styles } from '../css/style-sheet.ts'
import type { Declaration } from '../css/values.ts'
import { parseDeclarations, toPixels, viewport } from '../css/values.ts'
import type { HtmlAttributes } from '../elements/elements.ts'
import type { Colour, Visual } from './visual.ts'
import { blend, fraction, listColours, parseColour, white } from './visual.ts'
import { isClippedAway, isCollapsed, isOffScreen, isRemoved, readScale, readShift } from './ways-to-hide.ts'

/** Their sizes are the least they have (CSS 2.2 §17.5). */
const growsWithContent: ReadonlySet<string> = new Set(['td', 'th', 'tr', 'tbody', 'thead', 'tfoot', 'table'])

/** How text in an element looks, by the look of what it stands in and by its styles. */
export function readVisual(outer: Visual, declared: Styles, name: string): Visual {
  if (declared.size === 0) return outer
  const { styles, variables } = resolveVariables(declared, outer.variables)
  const fontPx = readFontSize(styles.get('font-size'), outer.fontPx) * readZoom(styles.get('zoom'))
  const base = { fontPx, wholePx: viewport.width }
  const isClipped = outer.isClipped || clipsContent(styles)
  const { shift, indentPx } = readShift(styles, outer, base)
  const isGone =
    outer.isGone ||
    isRemoved(styles, fontPx) ||
    isClippedAway(styles, base) ||
    (isClipped && !growsWithContent.has(name) && isCollapsed(styles, base)) ||
    isOffScreen(styles, { shift, indentPx, base, isClipped })
  return {
    ...outer,
    isGone,
    isInvisible: readVisibility(styles.get('visibility'), outer.isInvisible),
    isClipped,
    isVerbatim: readWhiteSpace(styles.get('white-space'), outer.isVerbatim),
    fontPx,
    scale: outer.scale * readScale(styles),
    opacity: outer.opacity * readOpacity(styles),
    colour: readColour(styles, outer.colour),
    ...readGrounds(styles, outer),
    shift,
    indentPx,
    variables,
  }
}

/** CSS Fonts 4 §2.5. */
const fontSizes: Readonly<Record<string, number>> = {
  'xx-small': 9,
  'x-small': 10,
  small: 13,
  medium: 16,
  large: 18,
  'x-large': 24,
  'xx-large': 32,
}

function readFontSize(value: string | undefined, outerPx: number): number {
  if (value === undefined) return outerPx
  if (value === 'smaller') return outerPx / 1.2
  if (value === 'larger') return outerPx * 1.2
  return fontSizes[value] ?? toPixels(value, { fontPx: outerPx, wholePx: outerPx }) ?? outerPx
}

function readZoom(value: string | undefined): number {
  const zoom = value === undefined || value === 'normal' ? 1 : Number.parseFloat(value)
  return Number.isFinite(zoom) ? (value?.endsWith('%') ? zoom / 100 : zoom) : 1
}

function clipsContent(styles: Styles): boolean {
  const overflow = styles.get('overflow')
  const contain = styles.get('contain') ?? ''
  return (overflow !== undefined && !/^visible\b/.test(overflow)) || /paint|strict|content/.test(contain)
}

function readVisibility(value: string | undefined, outer: boolean): boolean {
  if (value === 'visible' || value === 'initial') return false
  return value === 'hidden' || value === 'collapse' || outer
}

function readWhiteSpace(value: string | undefined, outer: boolean): boolean {
  if (value === undefined || value === 'inherit') return outer
  return /^(?:pre|break-spaces)/.test(value)
}

/** Letters of ordinary size are gone in it. */
const maxBlurPx = 10

/** Those of `filter` count too. */
function readOpacity(styles: Styles): number {
  const own = styles.get('opacity')
  const filter = styles.get('filter') ?? ''
  const [, filtered] = /opacity\(\s*([\d.]{1,8}%?)\s*\)/.exec(filter) ?? []
  const [, percent] = /alpha\(\s*opacity\s*=\s*([\d.]{1,8})/.exec(filter) ?? []
  const [, blur] = /blur\(\s*(\d{1,5})/.exec(filter) ?? []
  if (Number(blur) >= maxBlurPx) return 0
  return fraction(own ?? '1') * fraction(filtered ?? '1') * fraction(`${percent ?? 100}%`)
}

function readColour(styles: Styles, outer: Colour | undefined): Colour | undefined {
  const value = styles.get('-webkit-text-fill-color') ?? styles.get('color')
  if (value === undefined || value === 'inherit' || value === 'currentcolor') return outer
  // Text as a window to its ground.
  if (/text/.test(styles.get('background-clip') ?? styles.get('-webkit-background-clip') ?? '')) return undefined
  return parseColour(value)
}

/** Behind a picture only the operator of its server knows what is seen. */
function readGrounds(styles: Styles, outer: Visual): Pick<Visual, 'grounds' | 'isOverPicture'> {
  const shorthand = styles.get('background') ?? ''
  const image = styles.get('background-image') ?? shorthand
  const plain = [...listColours(styles.get('background-color') ?? ''), ...listColours(shorthand)]
  const drawn = image.includes('gradient(') ? listColours(image) : []
  const colours = (drawn.length > 0 ? drawn : plain.slice(0, 1)).slice(0, 8)
  if (colours.length === 0) {
    return { grounds: outer.grounds, isOverPicture: outer.isOverPicture || image.includes('url(') }
  }
  const isOverPicture = outer.isOverPicture && colours.every(({ alpha }) => alpha < 1)
  return { grounds: colours.map(colour => blend(colour, outer.grounds[0] ?? white)), isOverPicture }
}

/** Properties that decide whether text is seen. */
const ofInterest: ReadonlySet<string> = new Set(
  `display visibility content-visibility opacity filter zoom mso-hide contain white-space font font-size letter-spacing text-indent
  overflow overflow-x overflow-y width max-width height max-height block-size max-block-size inline-size max-inline-size
  position inset left right top bottom margin margin-left margin-top margin-right margin-bottom
  padding padding-left padding-top padding-right padding-bottom
  transform -webkit-transform -ms-transform scale translate rotate clip clip-path -webkit-clip-path
  color -webkit-text-fill-color background background-color background-image background-clip -webkit-background-clip`.split(
    /\s+/,
  ),
)

export function hidesByProperty(name: string): boolean {
  return ofInterest.has(name) || name.startsWith('--')
}

/** What an element is without any style, as browsers have it (HTML §15.3); a style overrides it. */
export function listOwnStyles(name: string, attributes: HtmlAttributes): readonly Declaration[] {
  const declared: (readonly [string, string | undefined])[] = [
    [
      'display',
      attributes.has('hidden') || attributes.has('popover') || isClosedDialog(name, attributes) ? 'none' : undefined,
    ],
    ['content-visibility', attributes.get('hidden') === 'until-found' ? 'hidden' : undefined],
    ['background-color', attributes.get('bgcolor')],
    ['background-image', attributes.has('background') ? 'url()' : undefined],
    ['color', name === 'font' ? attributes.get('color') : undefined],
    ['color', name === 'body' ? attributes.get('text') : undefined],
    ['color', name === 'a' && attributes.has('href') ? '#0000ee' : undefined],
    ['white-space', name === 'pre' ? 'pre' : undefined],
  ]
  return declared.flatMap(([property, value]) =>
    value === undefined ? [] : [{ name: property, value: value.toLowerCase(), isImportant: false }],
  )
}

function isClosedDialog(name: string, attributes: HtmlAttributes): boolean {
  return name === 'dialog' && !attributes.has('open')
}

/** Of the `style` attribute. */
export function listInlineStyles(attributes: HtmlAttributes): readonly Declaration[] {
  const style = attributes.get('style')
  return style ? parseDeclarations(style).filter(({ name }) => hidesByProperty(name)) : []
}

const [maxVariables, maxValue, maxDepth] = [64, 512, 4]
const use = /var\(\s*(--[\w-]{1,64})\s*(?:,([^()]{0,200}))?\)/g

/**
 * Puts the values of custom properties where they are used (CSS Variables 1 §3). Bounded: a value may not grow.
 * `variables`: those that the elements within inherit.
 */
function resolveVariables(declared: Styles, outer: ReadonlyMap<string, string>) {
  const own = [...declared].filter(([name]) => name.startsWith('--'))
  const variables = own.length === 0 ? outer : new Map([...outer, ...own].slice(-maxVariables))
  const uses = [...declared].filter(([, value]) => value.includes('var('))
  if (uses.length === 0) return { styles: declared, variables }
  return {
    styles: new Map([...declared, ...uses.map(([name, value]) => [name, resolve(value, variables)] as const)]),
    variables,
  }
}

function resolve(value: string, variables: ReadonlyMap<string, string>): string {
  let text = value.slice(0, maxValue)
  for (let depth = 0; depth < maxDepth && text.includes('var('); depth += 1) {
    text = text
      .replace(use, (_, name: string, fallback = '') => variables.get(name) ?? fallback.trim())
      .slice(0, maxValue)
  }
  return text
}
