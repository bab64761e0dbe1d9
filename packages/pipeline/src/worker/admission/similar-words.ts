// Compares texts by their triples of words.

/** The length of the beginning of a text that is compared, in UTF-16 code units. */
const maxComparedChars = 4_000

/** The share of common word triples from which two texts count as the same. */
const minSimilarShare = 0.8

/** The minimum number of words of a person's text that is compared, because people often repeat short texts such as "yes" and "status". */
const minWords = 8

/**
 * Returns false if a text is certainly too short for a comparison. This takes little time, unlike `canCompare`: most texts begin a thread and are
 * never compared.
 */
export function mayCompare(text: string, { isFromAgent }: { readonly isFromAgent: boolean }): boolean {
  const minCount = isFromAgent ? 1 : minWords + 2
  let count = 0
  for (const _word of prepareText(text).matchAll(wordPattern)) {
    count += 1
    if (count >= minCount) return true
  }
  return false
}

/** Returns true if a text has enough words to be compared. */
export function canCompare(text: string, { isFromAgent }: { readonly isFromAgent: boolean }): boolean {
  return readShingles(text).size >= (isFromAgent ? 1 : minWords)
}

/**
 * Counts how many of `earlierTexts` (newest first) repeat `text`, in a row. It ignores parts that differ from one automatic message to the next:
 * quote marks, numbers, names, punctuation. An agent that repeats its text and adds something also counts as a repetition. It has no side effects.
 */
export function countSimilar(
  text: string,
  earlierTexts: readonly string[],
  { isFromAgent }: { readonly isFromAgent: boolean },
): number {
  const shingles = readShingles(text)
  const computeShare = isFromAgent ? computeShareOfSmaller : computeShareOfUnion
  const differentIndex = earlierTexts.findIndex(
    earlierText => computeShare(shingles, readShingles(earlierText)) < minSimilarShare,
  )
  return differentIndex < 0 ? earlierTexts.length : differentIndex
}

const wordPattern = /[\p{L}\p{N}]+/gu

/** Returns the compared beginning of a text in lower case and without addresses. */
function prepareText(text: string): string {
  return text
    .slice(0, maxComparedChars)
    .toLowerCase()
    .replace(/@[^\s@]+@[^\s@]+/g, ' ')
}

/** Returns the triples of words of a text, or the words themselves if there are fewer than three. */
function readShingles(text: string): ReadonlySet<string> {
  const words = prepareText(text)
    .replace(/\p{N}+/gu, '0')
    .match(wordPattern)
  if (!words) return new Set()
  if (words.length < 3) return new Set([words.join(' ')])
  return new Set(words.slice(2).map((word, index) => `${words[index]} ${words[index + 1]} ${word}`))
}

function computeShareOfUnion(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  const commonCount = countCommon(left, right)
  return commonCount / (left.size + right.size - commonCount || 1)
}

/** Returns the share of the smaller set that both sets contain, because echoes grow: each echo contains the previous one. */
function computeShareOfSmaller(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  return countCommon(left, right) / (Math.min(left.size, right.size) || 1)
}

function countCommon(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  let count = 0
  for (const shingle of left) if (right.has(shingle)) count += 1
  return count
}
