// Counts the length of a text up to a limit, and reads no more of the text than necessary.

/** The factor by which markup and URLs may make a text longer than its visible part. */
const prefixFactor = 16
const minPrefixChars = 16_384

/**
 * Counts ever longer prefixes of a text until the count exceeds `maxCount`. The cost depends on `maxCount` and not on the length of the text, because strangers
 * can make agents write megabytes and no post contains more than its limit. `count` may stop once it exceeds its `max` argument.
 */
export function countPrefix(text: string, maxCount: number, count: (text: string, max: number) => number): number {
  for (let length = Math.max(minPrefixChars, maxCount * prefixFactor); length < text.length; length *= 4) {
    const visibleLength = count(text.slice(0, length), maxCount)
    if (visibleLength > maxCount) return visibleLength
  }
  return count(text, maxCount)
}
