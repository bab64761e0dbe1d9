// Computes the look of an element's text from the surrounding element and its own CSS styles.
import type { Declaration } from '../css/blocks.ts'
import { parseDeclarations } from '../css/blocks.ts'
import { isAcceptedDeclaration } from '../css/readable-value.ts'
import type { Styles } from '../css/style-sheet.ts'
import { toPixels, viewport } from '../css/values.ts'
import type { HtmlAttributes } from '../elements/elements.ts'
import { isClippedAway, isCollapsed, isOffScreen, isRemoved, readScale, readShift } from './hiding-styles.ts'
import type { Colour, Visual } from './visual.ts'
import { blend, listColours, parseColour, parseFraction, white } from './visual.ts'

/** Elements that grow with their content, because their size is only a minimum (CSS 2.2 §17.5). */
const growingElements: ReadonlySet<string> = new Set(['td', 'th', 'tr', 'tbody', 'thead', 'tfoot', 'table'])

/** Computes the look of an element's text from the look of the outer element and the element's own styles. */
export function readVisual(outer: Visual, declaredStyles: Styles, name: string): Visual {
  if (declaredStyles.size === 0) return outer
  const { styles, variables } = resolveVariables(declaredStyles, outer.variables)
  const fontPx = readFontSize(styles.get('font-size'), outer.fontPx) * readZoom(styles.get('zoom'))
  const base = { fontPx, percentageBasePx: viewport.width }
  const isClipped = outer.isClipped || clipsContent(styles)
  const { shift, indentPx } = readShift(styles, outer, base)
  const isGone =
    outer.isGone ||
    isRemoved(styles, fontPx) ||
    isClippedAway(styles, base) ||
    (isClipped && !growingElements.has(name) && isCollapsed(styles, base)) ||
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
    ...readBackgrounds(styles, outer),
    shift,
    indentPx,
    variables,
  }
}

/** The font sizes of the keywords, in pixels (CSS Fonts 4 §2.5). */
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
  return fontSizes[value] ?? toPixels(value, { fontPx: outerPx, percentageBasePx: outerPx }) ?? outerPx
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

/** The blur that makes letters of ordinary size unreadable, in pixels. */
const maxBlurPx = 10

/** Reads the opacity, combined with that of `filter`. */
function readOpacity(styles: Styles): number {
  const opacityText = styles.get('opacity')
  const filter = styles.get('filter') ?? ''
  const [, filterOpacity] = /opacity\(\s*([\d.]{1,8}%?)\s*\)/.exec(filter) ?? []
  const [, percent] = /alpha\(\s*opacity\s*=\s*([\d.]{1,8})/.exec(filter) ?? []
  const [, blur] = /blur\(\s*(\d{1,5})/.exec(filter) ?? []
  if (Number(blur) >= maxBlurPx) return 0
  return parseFraction(opacityText ?? '1') * parseFraction(filterOpacity ?? '1') * parseFraction(`${percent ?? 100}%`)
}

function readColour(styles: Styles, outer: Colour | undefined): Colour | undefined {
  const value = styles.get('-webkit-text-fill-color') ?? styles.get('color')
  if (value === undefined || value === 'inherit' || value === 'currentcolor') return outer
  // With `background-clip: text`, the background fills the letters, so their colour is not known here.
  if (/text/.test(styles.get('background-clip') ?? styles.get('-webkit-background-clip') ?? '')) return undefined
  return parseColour(value)
}

/** Reads the colours behind the text. The colours of a picture are not known, because nothing is fetched. */
function readBackgrounds(styles: Styles, outer: Visual): Pick<Visual, 'backgrounds' | 'isOverPicture'> {
  const shorthand = styles.get('background') ?? ''
  const image = styles.get('background-image') ?? shorthand
  const plainColours = [...listColours(styles.get('background-color') ?? ''), ...listColours(shorthand)]
  const gradientColours = image.includes('gradient(') ? listColours(image) : []
  const colours = (gradientColours.length > 0 ? gradientColours : plainColours.slice(0, 1)).slice(0, 8)
  if (colours.length === 0) {
    return { backgrounds: outer.backgrounds, isOverPicture: outer.isOverPicture || image.includes('url(') }
  }
  const isOverPicture = outer.isOverPicture && colours.every(({ alpha }) => alpha < 1)
  return { backgrounds: colours.map(colour => blend(colour, outer.backgrounds[0] ?? white)), isOverPicture }
}

/** The properties that decide whether a reader sees text. */
const relevantProperties: ReadonlySet<string> = new Set(
  `display visibility content-visibility opacity filter zoom mso-hide contain white-space font font-size letter-spacing text-indent
  overflow overflow-x overflow-y width max-width height max-height block-size max-block-size inline-size max-inline-size
  position inset left right top bottom margin margin-left margin-top margin-right margin-bottom
  padding padding-left padding-top padding-right padding-bottom
  transform -webkit-transform -ms-transform scale translate rotate clip clip-path -webkit-clip-path
  color -webkit-text-fill-color background background-color background-image background-clip -webkit-background-clip`.split(
    /\s+/,
  ),
)

/** Returns true if a declaration may hide text, or may show text that another declaration hides. */
export function affectsVisibility(declaration: Declaration): boolean {
  const { name } = declaration
  return name.startsWith('--') || (relevantProperties.has(name) && isAcceptedDeclaration(declaration))
}

/** Lists the default styles of an element in browsers (HTML §15.3), which any style overrides. */
export function listDefaultStyles(name: string, attributes: HtmlAttributes): readonly Declaration[] {
  const defaultStyles: (readonly [string, string | undefined])[] = [
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
  return defaultStyles.flatMap(([property, value]) =>
    value === undefined ? [] : [{ name: property, value: value.toLowerCase(), isImportant: false }],
  )
}

function isClosedDialog(name: string, attributes: HtmlAttributes): boolean {
  return name === 'dialog' && !attributes.has('open')
}

/** Lists the declarations of the `style` attribute. */
export function listInlineStyles(attributes: HtmlAttributes): readonly Declaration[] {
  const style = attributes.get('style')
  return style ? parseDeclarations(style, affectsVisibility) : []
}

const [maxVariables, maxValueChars, maxDepth] = [64, 512, 4]
const variablePattern = /var\(\s*(--[\w-]{1,64})\s*(?:,([^()]{0,200}))?\)/g

/**
 * Replaces `var()` by the values of custom properties (CSS Variables 1 §3). The size and the nesting of values are limited. `variables` are the
 * properties that inner elements inherit.
 */
function resolveVariables(declaredStyles: Styles, outer: ReadonlyMap<string, string>) {
  const ownVariables = [...declaredStyles].filter(([name]) => name.startsWith('--'))
  const variables = ownVariables.length === 0 ? outer : new Map([...outer, ...ownVariables].slice(-maxVariables))
  const uses = [...declaredStyles].filter(([, value]) => value.includes('var('))
  if (uses.length === 0) return { styles: declaredStyles, variables }
  return {
    styles: new Map([
      ...declaredStyles,
      ...uses.map(([name, value]) => [name, replaceVariables(value, variables)] as const),
    ]),
    variables,
  }
}

function replaceVariables(value: string, variables: ReadonlyMap<string, string>): string {
  let text = value.slice(0, maxValueChars)
  for (let depth = 0; depth < maxDepth && text.includes('var('); depth += 1) {
    text = text
      .replace(variablePattern, (_, name: string, fallback = '') => variables.get(name) ?? fallback.trim())
      .slice(0, maxValueChars)
  }
  return text
}
