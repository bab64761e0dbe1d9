// Counts the length of a text up to a limit, and reads no more of the text than necessary.

/** The factor by which markup and addresses may make a text longer than its visible part. */
const share = 16
const shortest = 16_384

/**
 * Counts a text up to `max` by longer and longer beginnings of it. The cost depends on `max` and not on the length of the text, because strangers
 * can make agents write megabytes and no post contains more than its limit. `count` may stop once it exceeds its `max`.
 */
export function countBeginning(text: string, max: number, count: (text: string, max: number) => number): number {
  for (let length = Math.max(shortest, max * share); length < text.length; length *= 4) {
    const counted = count(text.slice(0, length), max)
    if (counted > max) return counted
  }
  return count(text, max)
}
