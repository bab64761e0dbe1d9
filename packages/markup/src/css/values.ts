// Reads the values of CSS declarations: expands shorthands and converts lengths.

/** Splits a text at a character outside strings and parentheses, in one pass. */
export function splitTopLevel(text: string, separator: string): string[] {
  const pieces: string[] = []
  const nesting = { depth: 0, quote: '' }
  let start = 0
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index] as string
    const isOutside = nesting.depth === 0 && nesting.quote === ''
    if (!isOutside || char !== separator) trackNesting(char, nesting)
    else {
      pieces.push(text.slice(start, index))
      start = index + 1
    }
  }
  return [...pieces, text.slice(start)]
}

/** Updates the nesting of strings and parentheses by one character. A line end closes a string (CSS Syntax 3 §4.3.5). */
function trackNesting(char: string, nesting: { depth: number; quote: string }): void {
  if (nesting.quote) nesting.quote = char === nesting.quote || char === '\n' ? '' : nesting.quote
  else if (char === '"' || char === "'") nesting.quote = char
  else if (char === '(') nesting.depth += 1
  else if (char === ')') nesting.depth = Math.max(0, nesting.depth - 1)
}

type ExpandShorthand = (components: readonly string[]) => readonly (readonly [name: string, value: string])[]

const sides = ['top', 'right', 'bottom', 'left'] as const

/** The expansions of shorthands to the properties that can hide text. */
const expansions: ReadonlyMap<string, ExpandShorthand> = new Map<string, ExpandShorthand>([
  ['margin', components => expandSides(components, side => `margin-${side}`)],
  ['padding', components => expandSides(components, side => `padding-${side}`)],
  ['inset', components => expandSides(components, side => side)],
  ['font', expandFont],
  ['overflow-x', ([value = '']) => [['overflow', value]]],
  ['overflow-y', ([value = '']) => [['overflow', value]]],
])

/** Expands a shorthand to the properties that it sets. */
export function expandShorthand(name: string, value: string): readonly (readonly [name: string, value: string])[] {
  return expansions.get(name)?.(splitComponents(value)) ?? [[name, value]]
}

/** Splits a value at spaces outside of parentheses. */
export function splitComponents(value: string): readonly string[] {
  return splitTopLevel(value.replace(/\s+/g, ' '), ' ').filter(Boolean)
}

/** Expands one to four values to the four sides (CSS Box 4 §4.2). */
function expandSides(components: readonly string[], nameOf: (side: (typeof sides)[number]) => string) {
  const [top = '', right = top, bottom = top, left = right] = components
  return sides.map((side, index) => [nameOf(side), [top, right, bottom, left][index] ?? ''] as const)
}

/** Reads the size of a `font` such as `italic bold 12px/30px Georgia`, which is its first length. */
function expandFont(components: readonly string[]) {
  const size = components.find(component => /^[.\d]+[a-z%]*(?:\/|$)/.test(component) && !/^[1-9]00$/.test(component))
  return size ? [['font-size', size.split('/')[0] ?? ''] as const] : []
}

/** The sizes that relative units refer to, in pixels. */
export interface LengthBase {
  readonly fontPx: number
  /** The length that 100% refers to. */
  readonly percentageBasePx: number
}

/** A window of ordinary size, in pixels. Mail is read at about this width. */
export const viewport = { width: 1200, height: 800 } as const

/** The units that do not depend on the element, in pixels (CSS Values 4 §6). */
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
const dimensionPattern = /^([+-]?(?:\d{1,12}(?:\.\d{0,12})?|\.\d{1,12})(?:e[+-]?\d{1,3})?)([a-z%]{0,5})$/
const mathFunctions: Readonly<Record<string, (values: readonly number[]) => number>> = {
  calc: ([value = Number.NaN]) => value,
  min: values => Math.min(...values),
  max: values => Math.max(...values),
  clamp: ([min = 0, value = 0, max = 0]) => Math.max(min, Math.min(value, max)),
}
const maxNestingDepth = 4

/** Converts a length to pixels. Returns undefined for a value that is not a length or whose length is unknown here. */
export function toPixels(value: string, base: LengthBase, depth = 0): number | undefined {
  const text = value.trim()
  const [numberMatch, amount = '', unit = ''] = dimensionPattern.exec(text) ?? []
  if (numberMatch !== undefined) return Number(amount) * factorOf(unit, base)
  const [, name = '', inner] = /^([a-z]{0,5})\((.{0,400})\)$/.exec(text) ?? []
  const combine = mathFunctions[name || 'calc']
  if (inner === undefined || !combine || depth >= maxNestingDepth) return undefined
  const result = combine(splitTopLevel(inner, ',').map(argument => evaluate(argument, base, depth + 1)))
  return Number.isFinite(result) ? result : undefined
}

function factorOf(unit: string, { fontPx, percentageBasePx }: LengthBase): number {
  if (unit === '%') return percentageBasePx / 100
  if (unit === 'em' || unit === 'lh') return fontPx
  if (unit === 'ex' || unit === 'ch') return fontPx / 2
  return absoluteUnits[unit.replace(/^[sld](?=v)/, '')] ?? Number.NaN
}

/** Evaluates `1px + 2em` from left to right. Products are in their own parentheses if the order matters. */
function evaluate(text: string, base: LengthBase, depth: number): number {
  const operands = splitTopLevel(
    text
      .trim()
      .replace(/([*/])/g, ' $1 ')
      .replace(/\s+/g, ' '),
    ' ',
  )
  const valueAt = (operandIndex: number) => toPixels(operands[operandIndex] ?? '', base, depth) ?? Number.NaN
  let result = valueAt(0)
  for (let index = 1; index + 1 < operands.length; index += 2) {
    const value = valueAt(index + 1)
    const operator = operands[index]
    result =
      operator === '+'
        ? result + value
        : operator === '-'
          ? result - value
          : operator === '*'
            ? result * value
            : result / value
  }
  return result
}
