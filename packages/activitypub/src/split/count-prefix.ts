// Counts the length of a text up to a limit, and reads no more of the text than necessary.

/** The factor by which markup and URLs may make a text longer than its visible part. */
const markupFactor = 16
const minPrefixChars = 16_384

/**
 * Counts longer and longer prefixes of a text until the count exceeds `maxCount`. Strangers can make agents write megabytes, so the cost must depend
 * on `maxCount` and not on the length of the text. `countLength` may stop once the count exceeds its `max` argument.
 */
export function countPrefix(
  text: string,
  maxCount: number,
  countLength: (text: string, max: number) => number,
): number {
  for (let length = Math.max(minPrefixChars, maxCount * markupFactor); length < text.length; length *= 4) {
    const visibleLength = countLength(text.slice(0, length), maxCount)
    if (visibleLength > maxCount) return visibleLength
  }
  return countLength(text, maxCount)
}
