import type { Colour } from '../css/colours.ts'
import { black, blend, contrastOf, white } from '../css/colours.ts'

/** How text in an element looks, as far as it decides whether a reader sees it. */
export interface Visual {
  /** Not shown, whatever the elements in it say. */
  readonly isGone: boolean
  /** A rule that may or may not hold here would hide it. */
  readonly isDoubtful: boolean
  /** By `visibility`, which an inner element may set back. */
  readonly isInvisible: boolean
  /** Directly in a closed `details`, of which only the first summary is shown. */
  readonly fold: { isSummaryRead: boolean } | undefined
  readonly isClipped: boolean
  readonly isVerbatim: boolean
  /** Without transformations, which `scale` holds. */
  readonly fontPx: number
  readonly scale: number
  readonly opacity: number
  /** Undefined where it is not known. */
  readonly colour: Colour | undefined
  /** What is behind the text; several for a gradient. */
  readonly grounds: readonly Colour[]
  /** What is behind the text is not known. */
  readonly isOverPicture: boolean
  /** How far it was moved, in pixels, to the right and down. */
  readonly shift: { readonly x: number; readonly y: number }
  readonly indentPx: number
  /** Custom properties (CSS Variables 1). */
  readonly variables: ReadonlyMap<string, string>
}

/** A page as browsers begin it. */
export const plainVisual: Visual = {
  isGone: false,
  isDoubtful: false,
  isInvisible: false,
  fold: undefined,
  isClipped: false,
  isVerbatim: false,
  fontPx: 16,
  scale: 1,
  opacity: 1,
  colour: black,
  grounds: [white],
  isOverPicture: false,
  shift: { x: 0, y: 0 },
  indentPx: 0,
  variables: new Map(),
}

/** Smaller letters, fainter text and weaker contrasts nobody reads. #eee on white has a contrast of 1.16. */
const [minFontPx, minOpacity, minContrast] = [5, 0.06, 1.2]

/** Would a reader not see text that stands in it? */
export function isHiding(visual: Visual): boolean {
  const { isGone, isInvisible, fold, fontPx, scale, opacity } = visual
  return (
    isGone ||
    isInvisible ||
    fold !== undefined ||
    fontPx * scale < minFontPx ||
    opacity < minOpacity ||
    isPale(visual, visual.isOverPicture)
  )
}

/** May a reader not see text that stands in it? */
export function mayBeHiding(visual: Visual): boolean {
  return visual.isDoubtful || isHiding(visual) || isPale(visual, false)
}

/** Text in the colour of what is behind it, or of no colour at all. */
function isPale({ colour, grounds, opacity }: Visual, isOverPicture: boolean): boolean {
  if (!colour) return false
  if (colour.alpha < minOpacity) return true
  if (isOverPicture) return false
  const seen = { ...colour, alpha: colour.alpha * opacity }
  return grounds.every(ground => contrastOf(blend(seen, ground), ground) < minContrast)
}
