import { countGraphemes } from './graphemes.ts'
import { readVisibleLines } from './visible-lines.ts'

/** The length that every address counts, however long it is (Mastodon's `characters_reserved_per_url`). */
const addressLength = 23
/** A list's bullet and its space, or a number of one digit. */
const markLength = 2
/** Web addresses, as far as our HTML writers recognize them; and people with their host. */
const countedApart =
  /(?<address>https?:\/\/[^\s<>"'`\\\][{}|^]{0,2047}[^\s<>"'`\\\][{}|^.,;:!?*_~)])|(?<![=/\w])(?<person>@\w[\w.-]{0,63})@\w(?:[\w.-]{0,252}\w)?/giu

/**
 * The length of a text as Mastodon counts it (`StatusLengthValidator`): grapheme clusters, so that a letter with its
 * accents and a family of emoji are one; an address is 23, of `@user@host` only `@user` counts.
 * Stops counting when it is beyond `max`.
 */
export function countText(text: string, max = Number.POSITIVE_INFINITY): number {
  let count = 0
  let from = 0
  for (const { 0: found, index, groups } of text.matchAll(countedApart)) {
    count += countGraphemes(text.slice(from, index), max - count) + (groups?.person?.length ?? addressLength)
    if (count > max) return count
    from = index + found.length
  }
  return count + countGraphemes(text.slice(from), max - count)
}

/**
 * The length of HTML as a reader sees it, as if the same text were typed. Ends of lines and paragraphs, and list marks,
 * count too.
 */
export function countVisible(html: string, max = Number.POSITIVE_INFINITY): number {
  let count = 0
  for (const { text, marks, breaks } of readVisibleLines(html)) {
    count += (count > 0 ? breaks : 0) + marks * markLength + countText(text, max - count)
    if (count > max) return count
  }
  return count
}

/** The addresses of a text and what is between them, in order. */
export function* readAddresses(text: string): Generator<{ readonly text: string; readonly isWhole: boolean }> {
  let from = 0
  for (const { 0: found, index } of text.matchAll(countedApart)) {
    if (index > from) yield { text: text.slice(from, index), isWhole: false }
    yield { text: found, isWhole: true }
    from = index + found.length
  }
  if (from < text.length) yield { text: text.slice(from), isWhole: false }
}
