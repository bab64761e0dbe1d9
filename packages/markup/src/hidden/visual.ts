// Parses CSS colours and decides whether text with a given look can be seen by a reader.
import colourNames from 'color-name'
import { splitComponents, splitTopLevel } from '../css/values.ts'

/** A colour with red, green and blue from 0 to 255, and alpha from 0 to 1. */
export interface Colour {
  readonly red: number
  readonly green: number
  readonly blue: number
  readonly alpha: number
}

const black: Colour = { red: 0, green: 0, blue: 0, alpha: 1 }

export const white: Colour = { red: 255, green: 255, blue: 255, alpha: 1 }

/** Parses a colour of CSS or of an HTML attribute. Returns undefined for an unknown colour. */
export function parseColour(value: string): Colour | undefined {
  const text = value.trim().toLowerCase()
  if (text === 'transparent') return { ...black, alpha: 0 }
  const rgb = Object.hasOwn(colourNames, text) ? colourNames[text] : undefined
  if (rgb) return { red: rgb[0], green: rgb[1], blue: rgb[2], alpha: 1 }
  return parseHex(text) ?? parseFunction(text) ?? parseModern(text)
}

/** Parses hexadecimal digits, which attributes also write without `#`. */
function parseHex(text: string): Colour | undefined {
  const digits = /^#?([0-9a-f]{3,8})$/.exec(text)?.[1]
  if (!digits || digits.length === 5 || digits.length === 7) return undefined
  const size = digits.length < 6 ? 1 : 2
  const readChannel = (index: number) => {
    const hexDigits = digits.slice(index * size, index * size + size)
    return Number.parseInt(size === 1 ? hexDigits + hexDigits : hexDigits, 16)
  }
  return {
    red: readChannel(0),
    green: readChannel(1),
    blue: readChannel(2),
    alpha: digits.length % 4 === 0 ? readChannel(3) / 255 : 1,
  }
}

function parseFunction(text: string): Colour | undefined {
  const [, name = '', inner = ''] = /^(rgb|hsl|hwb)a?\(([^()]{1,200})\)$/.exec(text) ?? []
  const components = inner.split(/[\s,/]+/).filter(Boolean)
  if (components.length < 3) return undefined
  const [first = 0, second = 0, third = 0] = components.slice(0, 3).map(component => Number.parseFloat(component) || 0)
  const alpha = components[3] === undefined ? 1 : parseFraction(components[3])
  if (name !== 'rgb')
    return fromHue(first, { second: second / 100, third: third / 100, isWhiteness: name === 'hwb', alpha })
  const scale = components[0]?.endsWith('%') ? 2.55 : 1
  return { red: first * scale, green: second * scale, blue: third * scale, alpha }
}

/** Parses a colour of CSS Color 5, as exactly as visibility requires. `lab` and similar colours are read only by their lightness. */
function parseModern(text: string): Colour | undefined {
  const [, name = '', inner = ''] = /^([a-z-]+)\((.{1,200})\)$/.exec(text) ?? []
  const components = inner.split(/[\s,/]+/)
  if (name === 'light-dark') return parseColour(splitTopLevel(inner, ',')[0] ?? '')
  if (name === 'color-mix') return mixColours(splitTopLevel(inner, ',').slice(1))
  if (name === 'color')
    return parseFunction(
      `rgb(${components
        .slice(1, 4)
        .map(fractionText => `${100 * parseFraction(fractionText)}%`)
        .join(' ')})`,
    )
  if (!/^(?:ok)?l(?:ab|ch)$/.test(name)) return undefined
  const lightness = parseFraction(
    name.startsWith('ok') || components[0]?.endsWith('%') ? (components[0] ?? '') : `${components[0]}%`,
  )
  const level = 255 * (name.startsWith('ok') ? lightness ** 1.2 : lightness)
  return { red: level, green: level, blue: level, alpha: parseFraction(inner.split('/')[1] ?? '1') }
}

function mixColours(colours: readonly string[]): Colour | undefined {
  const [upperColour, lowerColour] = colours.map(colour => parseColour(colour.trim().replace(/\s*[\d.]{1,8}%$/, '')))
  if (!upperColour || !lowerColour) return undefined
  return blend({ ...upperColour, alpha: upperColour.alpha / 2 }, { ...lowerColour, alpha: 1 })
}

export function parseFraction(text: string): number {
  const value = Number.parseFloat(text)
  return Number.isFinite(value) ? Math.min(1, Math.max(0, text.trim().endsWith('%') ? value / 100 : value)) : 1
}

interface HueComponents {
  readonly second: number
  readonly third: number
  readonly isWhiteness: boolean
  readonly alpha: number
}

/** Converts a hue to red, green and blue (CSS Color 4 §7.1, §8.1). */
function fromHue(hue: number, { second, third, isWhiteness, alpha }: HueComponents): Colour {
  const pure = (n: number, saturation: number, lightness: number) => {
    const k = (n + (((hue % 360) + 360) % 360) / 30) % 12
    return lightness - saturation * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(k - 3, 9 - k, 1))
  }
  const at = (n: number) =>
    255 * (isWhiteness ? pure(n, 1, 0.5) * Math.max(0, 1 - second - third) + second : pure(n, second, third))
  return { red: at(0), green: at(8), blue: at(4), alpha }
}

/** Blends `foreground` with the colour behind it. */
export function blend(foreground: Colour, background: Colour): Colour {
  const mix = (top: number, bottom: number) => top * foreground.alpha + bottom * (1 - foreground.alpha)
  return {
    red: mix(foreground.red, background.red),
    green: mix(foreground.green, background.green),
    blue: mix(foreground.blue, background.blue),
    alpha: 1,
  }
}

/** Computes the contrast, from 1 for equal colours to 21 (WCAG 2.2 §1.4.3). */
function contrastOf(foreground: Colour, background: Colour): number {
  const [light, dark] = [luminanceOf(foreground), luminanceOf(background)].sort((a, b) => b - a) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

function luminanceOf({ red, green, blue }: Colour): number {
  const linear = (channel: number) => (channel <= 10 ? channel / 3294.6 : ((channel / 255 + 0.055) / 1.055) ** 2.4)
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

/** Lists the colours that a `background` names, including those of gradients. */
export function listColours(value: string): readonly Colour[] {
  return splitComponents(value).flatMap(component => {
    const gradientArguments = /^[a-z-]*gradient\((.{0,800})\)$/.exec(component)?.[1]
    const words =
      gradientArguments === undefined
        ? [component]
        : splitTopLevel(gradientArguments, ',').map(argument => argument.trim().split(' ')[0] ?? '')
    return words.slice(0, 16).flatMap(candidate => parseColour(candidate) ?? [])
  })
}

/** The look of an element's text, as far as it decides whether a reader sees it. */
export interface Visual {
  /** True if the element hides all of its content, regardless of the styles of inner elements. */
  readonly isGone: boolean
  /** True if the element may be hidden by a rule of which it is not known whether it applies. */
  readonly isDoubtful: boolean
  /** True if `visibility` hides the element, which an inner element may reverse. */
  readonly isInvisible: boolean
  /** The fold of content directly in a closed `details`, which shows only its first summary. Undefined elsewhere. */
  readonly fold: { isSummaryRead: boolean } | undefined
  readonly isClipped: boolean
  readonly isVerbatim: boolean
  /** The font size in pixels without transformations, which `scale` contains. */
  readonly fontPx: number
  readonly scale: number
  readonly opacity: number
  /** The colour of the text. Undefined if it is not known. */
  readonly colour: Colour | undefined
  /** The colours behind the text. A gradient has several. */
  readonly backgrounds: readonly Colour[]
  /** True if the colours behind the text are not known. */
  readonly isOverPicture: boolean
  /** The distance by which the element was moved to the right and down, in pixels. */
  readonly shift: { readonly x: number; readonly y: number }
  readonly indentPx: number
  /** The custom properties (CSS Variables 1). */
  readonly variables: ReadonlyMap<string, string>
}

/** The initial look of a page in browsers. */
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
  backgrounds: [white],
  isOverPicture: false,
  shift: { x: 0, y: 0 },
  indentPx: 0,
  variables: new Map(),
}

/** The limits below which nobody can read letters, faint text and weak contrasts. #eee on white has a contrast of 1.16. */
const [minFontPx, minOpacity, minContrast] = [5, 0.06, 1.2]

/** Returns true if a reader cannot see text with this look. */
export function hidesText(visual: Visual): boolean {
  const { isGone, isInvisible, fold, fontPx, scale, opacity } = visual
  return (
    isGone || isInvisible || fold !== undefined || fontPx * scale < minFontPx || opacity < minOpacity || isPale(visual)
  )
}

/** Returns true if a reader may be unable to see text with this look. */
export function mayHideText(visual: Visual): boolean {
  return visual.isDoubtful || hidesText(visual) || hasLowContrast(visual)
}

/** Returns true for text in the colour of its background, or with no visible colour. */
function isPale(visual: Visual): boolean {
  const { colour, isOverPicture } = visual
  return colour !== undefined && (colour.alpha < minOpacity || (!isOverPicture && hasLowContrast(visual)))
}

/** The results of `hasLowContrast`. Each run of text asks for the contrast of its look, and most runs share a look. */
const lowContrasts = new WeakMap<Visual, boolean>()

function hasLowContrast(visual: Visual): boolean {
  const isLow = lowContrasts.get(visual) ?? computeLowContrast(visual)
  lowContrasts.set(visual, isLow)
  return isLow
}

function computeLowContrast({ colour, backgrounds, opacity }: Visual): boolean {
  if (!colour) return false
  const effectiveColour = { ...colour, alpha: colour.alpha * opacity }
  return backgrounds.every(background => contrastOf(blend(effectiveColour, background), background) < minContrast)
}
