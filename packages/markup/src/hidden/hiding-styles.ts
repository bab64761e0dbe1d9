// Recognizes CSS that removes an element from sight: collapsed, clipped, moved off the screen or scaled to nothing.
import type { Styles } from '../css/style-sheet.ts'
import type { LengthBase } from '../css/values.ts'
import { splitComponents, toPixels, viewport } from '../css/values.ts'
import type { Visual } from './visual.ts'

/** The largest size of a box without room for a line of text, in pixels. */
const maxCollapsedPx = 5

/** Returns true for an element that is not laid out or not drawn. */
export function isRemoved(styles: Styles, fontPx: number): boolean {
  const spacing = toPixels(styles.get('letter-spacing') ?? '0', { fontPx, percentageBasePx: fontPx }) ?? 0
  return (
    styles.get('display') === 'none' ||
    styles.get('content-visibility') === 'hidden' ||
    styles.get('mso-hide') === 'all' ||
    (spacing < 0 && spacing <= -fontPx / 2)
  )
}

/** Returns true for a box without room for a line of text. The text is hidden only if the box also clips its overflow. */
export function isCollapsed(styles: Styles, base: LengthBase): boolean {
  return [
    'height',
    'max-height',
    'block-size',
    'max-block-size',
    'width',
    'max-width',
    'inline-size',
    'max-inline-size',
  ].some(name => {
    const readPx = toPixels(styles.get(name) ?? '', base)
    return readPx !== undefined && readPx <= maxCollapsedPx
  })
}

/** Returns true for an element clipped away by `clip` or `clip-path` (CSS Masking 1). */
export function isClippedAway(styles: Styles, base: LengthBase): boolean {
  const path = styles.get('clip-path') ?? styles.get('-webkit-clip-path') ?? ''
  return isEmptyRect(styles.get('clip') ?? '', base) || isEmptyShape(path, base)
}

function isEmptyRect(clip: string, base: LengthBase): boolean {
  const inner = /^rect\((.{1,200})\)$/.exec(clip)?.[1]
  if (inner === undefined) return false
  const [top, right, bottom, left] = inner
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(side => toPixels(side, base))
  const isThin = (from: number | undefined, to: number | undefined) =>
    from !== undefined && to !== undefined && to - from <= maxCollapsedPx
  return isThin(top, bottom) || isThin(left, right)
}

/** The assumed size of the box in pixels, because percentages of it usually do the hiding. */
const boxPx = 1000

function isEmptyShape(path: string, { fontPx }: LengthBase): boolean {
  const [, name = '', inner = ''] = /^([a-z]+)\(([^()]{0,1000})\)/.exec(path) ?? []
  const base = { fontPx, percentageBasePx: boxPx }
  const lengthsOf = (text: string) => splitComponents(text).flatMap(component => toPixels(component, base) ?? [])
  const isEmptyBox = emptyBoxChecks.get(name)
  if (isEmptyBox) {
    const lengths = completeLengths(lengthsOf(inner.split('round')[0] ?? ''))
    return lengths !== undefined && isEmptyBox(lengths)
  }
  if (name === 'circle' || name === 'ellipse')
    return lengthsOf(inner.split('at')[0] ?? '').some(radius => radius <= maxCollapsedPx)
  return name === 'polygon' && isFlat(inner.split(',').map(lengthsOf))
}

type FourLengths = readonly [number, number, number, number]

/** The checks whether a box function of `clip-path` leaves no room for text (CSS Shapes 1 §3.1). */
const emptyBoxChecks: ReadonlyMap<string, (lengths: FourLengths) => boolean> = new Map([
  ['inset', ([top, right, bottom, left]) => top + bottom >= boxPx || right + left >= boxPx],
  ['rect', ([top, right, bottom, left]) => bottom - top <= maxCollapsedPx || right - left <= maxCollapsedPx],
  ['xywh', ([, , width, height]) => width <= maxCollapsedPx || height <= maxCollapsedPx],
])

/** Completes one to three lengths to four, as for the sides of a box (CSS Box 4 §4.2). */
function completeLengths([top, right, bottom, left]: readonly number[]): FourLengths | undefined {
  if (top === undefined) return undefined
  return [top, right ?? top, bottom ?? top, left ?? right ?? top]
}

/** Returns true if all corners are on one horizontal or vertical line, or outside the box. */
function isFlat(points: readonly (readonly number[])[]): boolean {
  return [0, 1].some(axis => {
    const values = points.flatMap(point => point[axis] ?? [])
    if (values.length < points.length) return false
    const [minimum, maximum] = [Math.min(...values), Math.max(...values)]
    return maximum - minimum <= maxCollapsedPx || maximum <= 0 || minimum >= boxPx * 2
  })
}

/** Reads the shift of an element from its normal position. */
export function readShift(styles: Styles, outer: Visual, base: LengthBase) {
  const px = (name: string) => toPixels(styles.get(name) ?? '', base)
  const isPositioned = isMoved(styles)
  const translation = readTranslation(styles, base)
  const offsetX = isPositioned ? (px('left') ?? -(px('right') ?? 0)) : 0
  const offsetY = isPositioned ? (px('top') ?? -(px('bottom') ?? 0)) : 0
  const x = outer.shift.x + offsetX + (px('margin-left') ?? 0) + (px('padding-left') ?? 0) + translation.x
  const y = outer.shift.y + offsetY + (px('margin-top') ?? 0) + translation.y
  return { shift: { x, y }, indentPx: px('text-indent') ?? outer.indentPx }
}

/** The bounds beyond which an element is off the screen: left of the window, above it, or unreachably far to the right or down, in pixels. */
const [minX, maxX, minY, maxY] = [-200, 3000, -500, 5000]
/** The bound for an element outside the flow, and for the first line of a paragraph, in pixels. */
const minOffsetPx = -100

interface ElementPosition extends Pick<Visual, 'shift' | 'indentPx'> {
  readonly base: LengthBase
  readonly isClipped: boolean
}

export function isOffScreen(styles: Styles, { shift, indentPx, base, isClipped }: ElementPosition): boolean {
  const { x, y } = shift
  if (x <= minX || x >= maxX || y <= minY || y >= maxY) return true
  if (isClipped && indentPx >= viewport.width * 0.95) return true
  if (styles.has('text-indent') && (x + indentPx <= minOffsetPx || indentPx >= maxX)) return true
  return isOutOfFlow(styles) && ['left', 'right', 'top', 'bottom'].some(side => isBeyond(styles, side, base))
}

/** Returns true if an element is beyond one side. Only the offset counts, because `left: 50%; margin-left: -300px` centres a box. */
function isBeyond(styles: Styles, side: string, base: LengthBase): boolean {
  const offset = toPixels(styles.get(side) ?? '', base)
  return offset !== undefined && offset <= minOffsetPx
}

function isOutOfFlow(styles: Styles): boolean {
  return /^(?:absolute|fixed)$/.test(styles.get('position') ?? '')
}

function isMoved(styles: Styles): boolean {
  return /^(?:absolute|fixed|relative|sticky)$/.test(styles.get('position') ?? '')
}

/** Lists the transform functions (CSS Transforms 1 and 2), some of which hide text. */
function listTransforms(styles: Styles) {
  const transforms = [styles.get('transform'), styles.get('-webkit-transform'), styles.get('-ms-transform')].join(' ')
  const individualTransforms = ['scale', 'translate', 'rotate'].flatMap(name => {
    const value = styles.get(name)
    return value ? [{ name, values: value.split(/\s+/) }] : []
  })
  const functionCalls = [...transforms.slice(0, 1024).matchAll(/([a-z0-9]{1,12})\(([^()]{0,300})\)/g)]
  return [
    ...individualTransforms,
    ...functionCalls.map(([, name = '', inner = '']) => ({ name, values: inner.split(/[\s,]+/).filter(Boolean) })),
  ]
}

/** Reads the smaller scale of the two directions, which is 0 for an element that is rotated to its edge. */
export function readScale(styles: Styles): number {
  return listTransforms(styles).reduce((scale, transform) => scale * scaleOf(transform), 1)
}

function scaleOf({ name, values }: ReturnType<typeof listTransforms>[number]): number {
  const numbers = values.map(value => Number.parseFloat(value) * (value.endsWith('%') ? 0.01 : 1))
  if (/^scale(?:3d|x|y)?$/.test(name)) return minOf(numbers.slice(0, 2))
  if (name === 'matrix')
    return minOf([Math.hypot(numbers[0] ?? 1, numbers[1] ?? 0), Math.hypot(numbers[2] ?? 0, numbers[3] ?? 1)])
  if (name === 'matrix3d') return minOf([numbers[0] ?? 1, numbers[5] ?? 1])
  if (name === 'rotatex' || name === 'rotatey') return Math.abs(Math.cos(toRadians(values[0] ?? '0')))
  return 1
}

function minOf(numbers: readonly number[]): number {
  const sizes = numbers.map(Math.abs).filter(Number.isFinite)
  return sizes.length > 0 ? Math.min(...sizes) : 1
}

function toRadians(angle: string): number {
  const value = Number.parseFloat(angle) || 0
  if (angle.endsWith('turn')) return value * 2 * Math.PI
  if (angle.endsWith('rad')) return angle.endsWith('grad') ? (value * Math.PI) / 200 : value
  return (value * Math.PI) / 180
}

/** Reads the translation in pixels, to the right and down. */
function readTranslation(styles: Styles, base: LengthBase): { readonly x: number; readonly y: number } {
  let [x, y] = [0, 0]
  for (const { name, values } of listTransforms(styles)) {
    const [firstPx = 0, secondPx = 0] = values.map(value => toPixels(value, base) ?? 0)
    if (name === 'translatey') y += firstPx
    else if (/^translate(?:3d|x)?$/.test(name)) x += firstPx
    if (name === 'translate' || name === 'translate3d') y += secondPx
    if (name === 'matrix') [x, y] = [x + (Number(values[4]) || 0), y + (Number(values[5]) || 0)]
  }
  return { x, y }
}
