import names from 'color-name'
import { splitOutside, splitWords } from '../css/values.ts'

/** Red, green, blue from 0 to 255; alpha from 0 to 1. */
export interface Colour {
  readonly red: number
  readonly green: number
  readonly blue: number
  readonly alpha: number
}

export const [black, white]: readonly [Colour, Colour] = [
  { red: 0, green: 0, blue: 0, alpha: 1 },
  { red: 255, green: 255, blue: 255, alpha: 1 },
]

/** A colour as CSS or an attribute of HTML names it; undefined for one that is not known here. */
export function parseColour(value: string): Colour | undefined {
  const text = value.trim().toLowerCase()
  if (text === 'transparent') return { ...black, alpha: 0 }
  const named = Object.hasOwn(names, text) ? names[text] : undefined
  if (named) return { red: named[0], green: named[1], blue: named[2], alpha: 1 }
  return parseHex(text) ?? parseFunction(text) ?? parseModern(text)
}

/** Attributes write it without `#` too. */
function parseHex(text: string): Colour | undefined {
  const digits = /^#?([0-9a-f]{3,8})$/.exec(text)?.[1]
  if (!digits || digits.length === 5 || digits.length === 7) return undefined
  const size = digits.length < 6 ? 1 : 2
  const at = (place: number) => {
    const part = digits.slice(place * size, place * size + size)
    return Number.parseInt(size === 1 ? part + part : part, 16)
  }
  return { red: at(0), green: at(1), blue: at(2), alpha: digits.length % 4 === 0 ? at(3) / 255 : 1 }
}

function parseFunction(text: string): Colour | undefined {
  const [, name = '', inner = ''] = /^(rgb|hsl|hwb)a?\(([^()]{1,200})\)$/.exec(text) ?? []
  const words = inner.split(/[\s,/]+/).filter(Boolean)
  if (words.length < 3) return undefined
  const [first = 0, second = 0, third = 0] = words.slice(0, 3).map(word => Number.parseFloat(word) || 0)
  const alpha = words[3] === undefined ? 1 : fraction(words[3])
  if (name !== 'rgb')
    return fromHue(first, { second: second / 100, third: third / 100, isWhiteness: name === 'hwb', alpha })
  const scale = words[0]?.endsWith('%') ? 2.55 : 1
  return { red: first * scale, green: second * scale, blue: third * scale, alpha }
}

/** CSS Color 5, as near as it takes to see whether text is: `lab` and its like by their lightness alone. */
function parseModern(text: string): Colour | undefined {
  const [, name = '', inner = ''] = /^([a-z-]+)\((.{1,200})\)$/.exec(text) ?? []
  const words = inner.split(/[\s,/]+/)
  if (name === 'light-dark') return parseColour(splitOutside(inner, ',')[0] ?? '')
  if (name === 'color-mix') return mixOf(splitOutside(inner, ',').slice(1))
  if (name === 'color')
    return parseFunction(
      `rgb(${words
        .slice(1, 4)
        .map(each => `${100 * fraction(each)}%`)
        .join(' ')})`,
    )
  if (!/^(?:ok)?l(?:ab|ch)$/.test(name)) return undefined
  const light = fraction(name.startsWith('ok') || words[0]?.endsWith('%') ? (words[0] ?? '') : `${words[0]}%`)
  const part = 255 * (name.startsWith('ok') ? light ** 1.2 : light)
  return { red: part, green: part, blue: part, alpha: fraction(inner.split('/')[1] ?? '1') }
}

function mixOf(written: readonly string[]): Colour | undefined {
  const [one, other] = written.map(each => parseColour(each.trim().replace(/\s*[\d.]{1,8}%$/, '')))
  return one && other ? blend({ ...one, alpha: one.alpha / 2 }, { ...other, alpha: 1 }) : undefined
}

export function fraction(word: string): number {
  const value = Number.parseFloat(word)
  return Number.isFinite(value) ? Math.min(1, Math.max(0, word.trim().endsWith('%') ? value / 100 : value)) : 1
}

interface Hued {
  readonly second: number
  readonly third: number
  readonly isWhiteness: boolean
  readonly alpha: number
}

/** CSS Color 4 §7.1, §8.1. */
function fromHue(hue: number, { second, third, isWhiteness, alpha }: Hued): Colour {
  const pure = (n: number, saturation: number, lightness: number) => {
    const k = (n + (((hue % 360) + 360) % 360) / 30) % 12
    return lightness - saturation * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(k - 3, 9 - k, 1))
  }
  const at = (n: number) =>
    255 * (isWhiteness ? pure(n, 1, 0.5) * Math.max(0, 1 - second - third) + second : pure(n, second, third))
  return { red: at(0), green: at(8), blue: at(4), alpha }
}

/** `over`, seen on `under`. */
export function blend(over: Colour, under: Colour): Colour {
  const mix = (top: number, bottom: number) => top * over.alpha + bottom * (1 - over.alpha)
  return {
    red: mix(over.red, under.red),
    green: mix(over.green, under.green),
    blue: mix(over.blue, under.blue),
    alpha: 1,
  }
}

/** From 1, the same, to 21 (WCAG 2.2 §1.4.3). */
function contrastOf(one: Colour, other: Colour): number {
  const [light, dark] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => b - a) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

function luminanceOf({ red, green, blue }: Colour): number {
  const linear = (part: number) => (part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4)
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

/** The colours that a `background` names, those of gradients too. */
export function listColours(value: string): readonly Colour[] {
  return splitWords(value).flatMap(word => {
    const inner = /^[a-z-]*gradient\((.{0,800})\)$/.exec(word)?.[1]
    const words = inner === undefined ? [word] : splitOutside(inner, ',').map(each => each.trim().split(' ')[0] ?? '')
    return words.slice(0, 16).flatMap(each => parseColour(each) ?? [])
  })
}

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
