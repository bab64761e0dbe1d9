import type { Styles } from '../css/cascade.ts'
import type { LengthBase } from '../css/lengths.ts'
import { toPixels, viewport } from '../css/lengths.ts'
import { readTranslation } from './transforms.ts'
import type { Visual } from './visual.ts'

/** Where an element is drawn, against where it would be. */
interface Placement {
  readonly shift: Visual['shift']
  readonly indentPx: number
}

export function readShift(styles: Styles, outer: Visual, base: LengthBase): Placement {
  const px = (name: string) => toPixels(styles.get(name) ?? '', base)
  const moved = isMoved(styles)
  const translation = readTranslation(styles, base)
  const across = moved ? (px('left') ?? -(px('right') ?? 0)) : 0
  const down = moved ? (px('top') ?? -(px('bottom') ?? 0)) : 0
  const x = outer.shift.x + across + (px('margin-left') ?? 0) + (px('padding-left') ?? 0) + translation.x
  const y = outer.shift.y + down + (px('margin-top') ?? 0) + translation.y
  return { shift: { x, y }, indentPx: px('text-indent') ?? outer.indentPx }
}

/** To the left of a window or above it, or so far on the other side that nobody gets there, in pixels. */
const [leftPx, rightPx, abovePx, belowPx] = [-200, 3000, -500, 5000]
/** For an element that leaves the flow, and for the first line of a paragraph. */
const outsidePx = -100

interface Placed extends Placement {
  readonly base: LengthBase
  readonly isClipped: boolean
}

export function isOffScreen(styles: Styles, { shift, indentPx, base, isClipped }: Placed): boolean {
  const { x, y } = shift
  if (x <= leftPx || x >= rightPx || y <= abovePx || y >= belowPx) return true
  if (isClipped && indentPx >= viewport.width * 0.95) return true
  if (styles.has('text-indent') && (x + indentPx <= outsidePx || indentPx >= rightPx)) return true
  return isOut(styles) && ['left', 'right', 'top', 'bottom'].some(side => isBeyond(styles, side, base))
}

/** `left: 50%; margin-left: -300px` is how a box is put in the middle. */
function isBeyond(styles: Styles, side: string, base: LengthBase): boolean {
  const offset = toPixels(styles.get(side) ?? '', base)
  return offset !== undefined && offset <= outsidePx
}

function isOut(styles: Styles): boolean {
  return /^(?:absolute|fixed)$/.test(styles.get('position') ?? '')
}

function isMoved(styles: Styles): boolean {
  return /^(?:absolute|fixed|relative|sticky)$/.test(styles.get('position') ?? '')
}
