import { splitOutside } from './declarations.ts'

/** What relative units refer to, in pixels. */
export interface LengthBase {
  readonly fontPx: number
  /** What 100% is. */
  readonly wholePx: number
}

/** A window of ordinary size: mail is read at about this width. */
export const viewport = { width: 1200, height: 800 } as const

/** CSS Values 4 §6. */
const absoluteUnits: Readonly<Record<string, number>> = {
  '': 1,
  px: 1,
  pt: 4 / 3,
  pc: 16,
  in: 96,
  cm: 37.8,
  mm: 3.78,
  q: 0.945,
  rem: 16,
  vw: viewport.width / 100,
  vh: viewport.height / 100,
  vmin: viewport.height / 100,
  vmax: viewport.width / 100,
}
const number = /^([+-]?(?:\d{1,12}(?:\.\d{0,12})?|\.\d{1,12})(?:e[+-]?\d{1,3})?)([a-z%]{0,5})$/
const functions: Readonly<Record<string, (values: readonly number[]) => number>> = {
  calc: ([value = Number.NaN]) => value,
  min: values => Math.min(...values),
  max: values => Math.max(...values),
  clamp: ([least = 0, value = 0, most = 0]) => Math.max(least, Math.min(value, most)),
}
const maxNested = 4

/** A length in pixels; undefined for what is none, or none that can be known. */
export function toPixels(value: string, base: LengthBase, depth = 0): number | undefined {
  const text = value.trim()
  const [whole, amount = '', unit = ''] = number.exec(text) ?? []
  if (whole !== undefined) return Number(amount) * factorOf(unit, base)
  const [, name = '', inner] = /^([a-z]{0,5})\((.{0,400})\)$/.exec(text) ?? []
  const combine = functions[name || 'calc']
  if (inner === undefined || !combine || depth >= maxNested) return undefined
  const result = combine(splitOutside(inner, ',').map(each => evaluate(each, base, depth + 1)))
  return Number.isFinite(result) ? result : undefined
}

function factorOf(unit: string, { fontPx, wholePx }: LengthBase): number {
  if (unit === '%') return wholePx / 100
  if (unit === 'em' || unit === 'lh') return fontPx
  if (unit === 'ex' || unit === 'ch') return fontPx / 2
  return absoluteUnits[unit.replace(/^[sld](?=v)/, '')] ?? Number.NaN
}

/** `1px + 2em`, from left to right: products stand in parentheses of their own where it matters. */
function evaluate(text: string, base: LengthBase, depth: number): number {
  const words = splitOutside(
    text
      .trim()
      .replace(/([*/])/g, ' $1 ')
      .replace(/\s+/g, ' '),
    ' ',
  )
  const valueAt = (at: number) => toPixels(words[at] ?? '', base, depth) ?? Number.NaN
  let result = valueAt(0)
  for (let at = 1; at + 1 < words.length; at += 2) {
    const value = valueAt(at + 1)
    const sign = words[at]
    result =
      sign === '+' ? result + value : sign === '-' ? result - value : sign === '*' ? result * value : result / value
  }
  return result
}
