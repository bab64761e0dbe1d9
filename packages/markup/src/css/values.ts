/** One declaration of a style attribute or a rule. Names and values in lower case, without comments and escapes. */
export interface Declaration {
  readonly name: string
  readonly value: string
  readonly isImportant: boolean
}

const [maxDeclarations, maxValue] = [128, 2048]

/** `a: b; c: d !important`, as browsers read it (CSS Syntax 3 §5.4). */
export function parseDeclarations(text: string): readonly Declaration[] {
  const plain = readCss(text)
  return splitOutside(plain, ';').slice(0, maxDeclarations).flatMap(readDeclaration)
}

function readDeclaration(text: string): Declaration[] {
  const colon = text.indexOf(':')
  const name = text.slice(0, Math.max(colon, 0)).trim().slice(0, 64)
  if (!name) return []
  const value = text.slice(colon + 1, colon + 1 + maxValue).trim()
  const bang = value.lastIndexOf('!')
  const isImportant = bang >= 0 && value.slice(bang + 1).trim() === 'important'
  return [{ name, value: isImportant ? value.slice(0, bang).trim() : value, isImportant }]
}

/** Without comments; escapes stand for their characters, so that `\64 isplay` is `display`. */
function readCss(text: string): string {
  return withoutComments(text)
    .toLowerCase()
    .replace(/\\(?:([0-9a-f]{1,6})\s?|(.))/gs, (_, code?: string, char?: string) => char ?? characterOf(code ?? ''))
}

function characterOf(code: string): string {
  const number = Number.parseInt(code, 16)
  return number > 0 && number <= 0x10_ffff ? String.fromCodePoint(number) : '\ufffd'
}

/** CSS Syntax 3 §4.3.2: without an end it takes the rest. */
export function withoutComments(text: string): string {
  if (!text.includes('/*')) return text
  let plain = ''
  for (let at = 0; at < text.length; ) {
    const start = text.indexOf('/*', at)
    plain += text.slice(at, start < 0 ? text.length : start)
    const end = start < 0 ? -1 : text.indexOf('*/', start + 2)
    if (end < 0) break
    at = end + 2
  }
  return plain
}

/** Cuts at a character that stands in no string and no parentheses. One pass. */
export function splitOutside(text: string, mark: string): string[] {
  const pieces: string[] = []
  const place = { depth: 0, quote: '' }
  let start = 0
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] as string
    const isOutside = place.depth === 0 && place.quote === ''
    if (!isOutside || char !== mark) trackPlace(char, place)
    else {
      pieces.push(text.slice(start, at))
      start = at + 1
    }
  }
  return [...pieces, text.slice(start)]
}

/** A line end closes a string (CSS Syntax 3 §4.3.5). */
function trackPlace(char: string, place: { depth: number; quote: string }): void {
  if (place.quote) place.quote = char === place.quote || char === '\n' ? '' : place.quote
  else if (char === '"' || char === "'") place.quote = char
  else if (char === '(') place.depth += 1
  else if (char === ')') place.depth = Math.max(0, place.depth - 1)
}

type Expand = (words: readonly string[]) => readonly (readonly [name: string, value: string])[]

const sides = ['top', 'right', 'bottom', 'left'] as const

/** Properties that set several others, for those that can hide text. */
const expansions: ReadonlyMap<string, Expand> = new Map<string, Expand>([
  ['margin', words => expandSides(words, side => `margin-${side}`)],
  ['padding', words => expandSides(words, side => `padding-${side}`)],
  ['inset', words => expandSides(words, side => side)],
  ['font', expandFont],
  ['overflow-x', ([value = '']) => [['overflow', value]]],
  ['overflow-y', ([value = '']) => [['overflow', value]]],
])

/** A property with the others that it sets. */
export function expandShorthand(name: string, value: string): readonly (readonly [name: string, value: string])[] {
  return expansions.get(name)?.(splitWords(value)) ?? [[name, value]]
}

/** At spaces outside of parentheses. */
export function splitWords(value: string): readonly string[] {
  return splitOutside(value.replace(/\s+/g, ' '), ' ').filter(Boolean)
}

/** One to four values (CSS Box 4 §4.2). */
function expandSides(words: readonly string[], nameOf: (side: (typeof sides)[number]) => string) {
  const [top = '', right = top, bottom = top, left = right] = words
  return sides.map((side, at) => [nameOf(side), [top, right, bottom, left][at] ?? ''] as const)
}

/** `italic bold 12px/30px Georgia`: the first length is the size. */
function expandFont(words: readonly string[]) {
  const size = words.find(word => /^[.\d]+[a-z%]*(?:\/|$)/.test(word) && !/^[1-9]00$/.test(word))
  return size ? [['font-size', size.split('/')[0] ?? ''] as const] : []
}

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
