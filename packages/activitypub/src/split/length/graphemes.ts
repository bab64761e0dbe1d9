import { lazy } from '@postern/core/lazy'

const segmenter = lazy(() => new Intl.Segmenter('und', { granularity: 'grapheme' }))
/** Below U+0300 nothing joins what is before it; only such a character right before another one can be part of more. */
const needsSegmenting = /[\0-\u02ff]?[^\0-\u02ff]+/g

/** How many grapheme clusters (UAX 29) a text has. Stops counting when it is beyond `max`. */
export function countGraphemes(text: string, max = Number.POSITIVE_INFINITY): number {
  let count = 0
  let from = 0
  for (const { 0: run, index } of text.matchAll(needsSegmenting)) {
    count += index - from
    for (const _ of segmenter().segment(run)) {
      count += 1
      if (count > max) return count
    }
    from = index + run.length
  }
  return count + text.length - from
}

/** The grapheme clusters of a text, in order. */
export function* readGraphemes(text: string): Generator<string> {
  for (const { segment } of segmenter().segment(text)) yield segment
}
