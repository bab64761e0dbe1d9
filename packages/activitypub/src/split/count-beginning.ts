// Counts the length of a text up to a limit, and reads no more of the text than necessary.

/** The factor by which markup and addresses may make a text longer than its visible part. */
const beginningFactor = 16
const minBeginningChars = 16_384

/**
 * Counts a text up to `max` by longer and longer beginnings of it. The cost depends on `max` and not on the length of the text, because strangers
 * can make agents write megabytes and no post contains more than its limit. `count` may stop once it exceeds its `max`.
 */
export function countBeginning(text: string, max: number, count: (text: string, max: number) => number): number {
  for (let length = Math.max(minBeginningChars, max * beginningFactor); length < text.length; length *= 4) {
    const visibleLength = count(text.slice(0, length), max)
    if (visibleLength > max) return visibleLength
  }
  return count(text, max)
}
