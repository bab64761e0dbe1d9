import type { Styles } from '../css/cascade.ts'
import type { Colour } from '../css/colours.ts'
import { blend, fraction, listColours, parseColour, white } from '../css/colours.ts'
import { toPixels, viewport } from '../css/lengths.ts'
import { isClippedAway, isCollapsed, isRemoved } from './boxes.ts'
import { isOffScreen, readShift } from './positions.ts'
import { readScale } from './transforms.ts'
import { resolveVariables } from './variables.ts'
import type { Visual } from './visual.ts'

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
