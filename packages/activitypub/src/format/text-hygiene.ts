import { readVisibleCharacters } from '@postern/markup/html'

/** Honest text contains a few of them; a message written in them contains more. */
const tolerated = 8
const maxNameLength = 200
/** As long as servers let people write. */
const maxDescriptionLength = 5_000

interface CleanText {
  readonly text: string
  /** True when more was hidden in it than honest text ever holds. */
  readonly hadHidden: boolean
}

/** Removes characters that a human reader does not see. Joiners stay, because scripts and emoji need them. */
function cleanText(text: string): CleanText {
  const read = readVisibleCharacters(text)
  return { text: read.text, hadHidden: hidesWords(read.invisible) }
}

/** Are so many invisible characters more than honest text ever holds? */
export function hidesWords(invisible: number): boolean {
  return invisible > tolerated
}

/** A display name on one line, without tricks, or undefined when nothing is left. */
export function cleanName(name: string | undefined): string | undefined {
  const line = name && cleanText(name).text.replace(/\s+/g, ' ').trim().slice(0, maxNameLength)
  return line || undefined
}

/** The description of a picture, without invisible characters; undefined when nothing is left. */
export function cleanDescription(text: string | undefined): string | undefined {
  return (text && cleanText(text).text.trim().slice(0, maxDescriptionLength)) || undefined
}
