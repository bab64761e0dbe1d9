/** Letters that look like Latin ones, in lower case (a small part of UTS 39's list; most of the rest are taken apart by NFKD). */
const likenesses: Readonly<Record<string, string>> = {
  // Cyrillic
  ...{ а: 'a', в: 'b', ь: 'b', с: 'c', ԁ: 'd', е: 'e', ё: 'e', ҽ: 'e', ԑ: 'e', ԍ: 'g', һ: 'h', і: 'i', ї: 'i', ј: 'j' },
  ...{ к: 'k', қ: 'k', ӏ: 'l', м: 'm', н: 'h', о: 'o', р: 'p', ԛ: 'q', г: 'r', ѕ: 's', т: 't', ц: 'u', ѵ: 'v', ԝ: 'w' },
  ...{ х: 'x', у: 'y', ү: 'y' },
  // Greek
  ...{ α: 'a', γ: 'y', ε: 'e', ι: 'i', κ: 'k', ν: 'v', ο: 'o', ρ: 'p', τ: 't', υ: 'u', χ: 'x' },
  // Armenian
  ...{ ց: 'g', հ: 'h', յ: 'j', ո: 'n', ռ: 'n', օ: 'o', զ: 'q', ս: 'u' },
  // Latin of other alphabets
  ...{
    ɑ: 'a',
    ᴄ: 'c',
    đ: 'd',
    ɡ: 'g',
    ħ: 'h',
    ı: 'i',
    ɩ: 'i',
    ł: 'l',
    ø: 'o',
    ᴏ: 'o',
    ꜱ: 's',
    ŧ: 't',
    ᴜ: 'u',
    ᴠ: 'v',
    ᴡ: 'w',
    ᴢ: 'z',
  },
}
const letters = new Map(Object.entries(likenesses))

/** Latin that resembles other Latin; only used against known names. */
const latin: readonly (readonly [RegExp, string])[] = [
  [/rn/g, 'm'],
  [/vv/g, 'w'],
  [/[1i|]/g, 'l'],
  [/0/g, 'o'],
  [/5/g, 's'],
]

/** A text in lower case, by what its letters look like. */
export function skeletonOf(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is the rule
  if (/^[\x00-\x7f]*$/.test(text)) return text
  const bare = text.normalize('NFKD').replace(/[\p{M}\p{Cf}]/gu, '')
  return Array.from(bare, letter => letters.get(letter) ?? letter).join('')
}

/** Two texts with the same result are easily confused. */
export function foldLetters(text: string): string {
  return latin.reduce((folded, [pattern, by]) => folded.replace(pattern, by), skeletonOf(text.toLowerCase()))
}

/** The words of a name, in whatever order and between whatever signs; empty when it has none. */
export function foldName(name: string): string {
  const words = foldLetters(name).match(/[\p{L}\p{N}]+/gu) ?? []
  return words.toSorted().join(' ')
}

/**
 * The difference of two texts, when it is one letter more, less or changed, or two swapped neighbours: both pieces.
 * Undefined for equal texts and for larger differences.
 */
export function findEdit(left: string, right: string): readonly [left: string, right: string] | undefined {
  const shorter = Math.min(left.length, right.length)
  const longer = Math.max(left.length, right.length)
  if (longer - shorter > 1 || left === right) return undefined
  let start = 0
  while (start < shorter && left[start] === right[start]) start += 1
  let end = 0
  while (end < shorter - start && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1
  // Nearly all of thousands end here, and nothing is cut out for them.
  if (longer - start - end > 2) return undefined
  const [one, other] = [left.slice(start, left.length - end), right.slice(start, right.length - end)]
  const isSwap = one.length === 2 && other.length === 2 && one[0] === other[1] && one[1] === other[0]
  return isSwap || (one.length <= 1 && other.length <= 1) ? [one, other] : undefined
}
