import type { Styles } from '../css/cascade.ts'
import type { LengthBase } from '../css/lengths.ts'
import { toPixels } from '../css/lengths.ts'
import { splitWords } from '../css/shorthands.ts'

/** A line of text needs more. */
const maxCollapsedPx = 5

/** Not laid out or not drawn at all. */
export function isRemoved(styles: Styles, fontPx: number): boolean {
  const spacing = toPixels(styles.get('letter-spacing') ?? '0', { fontPx, wholePx: fontPx }) ?? 0
  return (
    styles.get('display') === 'none' ||
    styles.get('content-visibility') === 'hidden' ||
    styles.get('mso-hide') === 'all' ||
    (spacing < 0 && spacing <= -fontPx / 2)
  )
}

/** No room for a line of text, in a box that shows nothing of what reaches out of it. */
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
    const px = toPixels(styles.get(name) ?? '', base)
    return px !== undefined && px <= maxCollapsedPx
  })
}

/** By `clip` and `clip-path` (CSS Masking 1). */
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

/** Sizes as if the box were this large: percentages are what hides. */
const boxPx = 1000

function isEmptyShape(path: string, { fontPx }: LengthBase): boolean {
  const [, name = '', inner = ''] = /^([a-z]+)\(([^()]{0,1000})\)/.exec(path) ?? []
  const base = { fontPx, wholePx: boxPx }
  const lengthsOf = (text: string) => splitWords(text).flatMap(word => toPixels(word, base) ?? [])
  if (name === 'inset' || name === 'rect' || name === 'xywh')
    return isEmptyBox(name, lengthsOf(inner.split('round')[0] ?? ''))
  if (name === 'circle' || name === 'ellipse')
    return lengthsOf(inner.split('at')[0] ?? '').some(radius => radius <= maxCollapsedPx)
  return name === 'polygon' && isFlat(inner.split(',').map(lengthsOf))
}

function isEmptyBox(name: string, values: readonly number[]): boolean {
  const [a, b = a, c = a, d = b] = values
  if (a === undefined || b === undefined || c === undefined || d === undefined) return false
  if (name === 'xywh') return c <= maxCollapsedPx || d <= maxCollapsedPx
  if (name === 'rect') return c - a <= maxCollapsedPx || b - d <= maxCollapsedPx
  return a + c >= boxPx || b + d >= boxPx
}

/** All corners on one line, up or across, or out of the box. */
function isFlat(points: readonly (readonly number[])[]): boolean {
  return [0, 1].some(axis => {
    const values = points.flatMap(point => point[axis] ?? [])
    if (values.length < points.length) return false
    const [least, most] = [Math.min(...values), Math.max(...values)]
    return most - least <= maxCollapsedPx || most <= 0 || least >= boxPx * 2
  })
}
