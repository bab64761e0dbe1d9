/** What is compared of a text, UTF-16 code units. */
const maxCompared = 4_000
/** From here on two texts say the same: the share of their triples of words. */
const threshold = 0.8
/** Of those who are no agents, shorter texts are never the same: people say "yes" and "status" again and again. */
const fewestWords = 8

/** Whether there are enough words to tell. */
export function canCompare(text: string, { isFromAgent }: { readonly isFromAgent: boolean }): boolean {
  return readShingles(text).size >= (isFromAgent ? 1 : fewestWords)
}

/**
 * How many of `earlier` (newest first) say the same as `text`, in a row. What differs from one automatic message to the next is passed over:
 * quote marks, numbers, names, punctuation. An agent that says what was said and something more says the same. Pure.
 */
export function countSimilar(
  text: string,
  earlier: readonly string[],
  { isFromAgent }: { readonly isFromAgent: boolean },
): number {
  const said = readShingles(text)
  const share = isFromAgent ? shareOfSmaller : shareOfBoth
  const differs = earlier.findIndex(other => share(said, readShingles(other)) < threshold)
  return differs < 0 ? earlier.length : differs
}

/** Triples of words; the words themselves where there are fewer than three. */
function readShingles(text: string): ReadonlySet<string> {
  const words = text
    .slice(0, maxCompared)
    .toLowerCase()
    .replace(/@[^\s@]+@[^\s@]+/g, ' ')
    .replace(/\p{N}+/gu, '0')
    .match(/[\p{L}\p{N}]+/gu)
  if (!words) return new Set()
  if (words.length < 3) return new Set([words.join(' ')])
  return new Set(words.slice(2).map((word, at) => `${words[at]} ${words[at + 1]} ${word}`))
}

function shareOfBoth(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  const common = countCommon(left, right)
  return common / (left.size + right.size - common || 1)
}

/** Echoes grow: each holds the one before. */
function shareOfSmaller(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  return countCommon(left, right) / (Math.min(left.size, right.size) || 1)
}

function countCommon(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  let count = 0
  for (const each of left) if (right.has(each)) count += 1
  return count
}
