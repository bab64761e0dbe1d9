import { splitOutside } from './declarations.ts'

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
