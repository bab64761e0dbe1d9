// Folds letters that look alike, so that texts which read alike compare equal (UTS 39).

/**
 * Letters that look like Latin ones, in lower case. This is a small part of the list of UTS 39. NFKD decomposes most of
 * the other letters.
 */
const confusables: Readonly<Record<string, string>> = {
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

const latinByConfusable = new Map(Object.entries(confusables))

/** Latin letters that resemble other Latin letters. They count only in a comparison with known names. */
const latinConfusables: readonly (readonly [RegExp, string])[] = [
  [/rn/g, 'm'],
  [/vv/g, 'w'],
  [/[1i|]/g, 'l'],
  [/0/g, 'o'],
  [/5/g, 's'],
]

/** Replaces the letters of a lower-case text by the Latin letters that they look like. */
export function skeletonOf(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is the rule
  if (/^[\x00-\x7f]*$/.test(text)) return text
  const baseLetters = text.normalize('NFKD').replace(/[\p{M}\p{Cf}]/gu, '')
  return Array.from(baseLetters, letter => latinByConfusable.get(letter) ?? letter).join('')
}

/** Folds a text. Two texts with the same result are easily confused. */
export function foldLetters(text: string): string {
  return latinConfusables.reduce(
    (result, [pattern, replacement]) => result.replace(pattern, replacement),
    skeletonOf(text.toLowerCase()),
  )
}

/**
 * Folds the words of a name, regardless of their order and of the signs between them. The result is empty if the name has no
 * words.
 */
export function foldName(name: string): string {
  const words = foldLetters(name).match(/[\p{L}\p{N}]+/gu) ?? []
  return words.toSorted().join(' ')
}
