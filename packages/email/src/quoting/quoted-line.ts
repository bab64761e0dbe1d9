// Recognizes quoted lines, blank lines and delimiter lines.
import { createAlternativesPattern, listPhrases } from './phrase-table.ts'

/** Matches the rest of a mailbox that was wrapped before its last bracket. Such a line looks like a quoted line. */
const wrappedMailboxEnd = new RegExp(`^>\\s?${createAlternativesPattern(listPhrases('wrote'))}?\\s?[:：]$`, 'iu')

/** Returns true if a line begins with the quote prefix `>`. */
export function isQuotedLine(line: string): boolean {
  return /^\s?>/.test(line) && !wrappedMailboxEnd.test(line)
}

/** Matches the direction marks that programs put around names in right-to-left text, and blanks without a width. */
const invisibleCharacters = /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g

/** Returns the visible text of a line, without blanks at its ends. */
export function readVisibleLine(line = ''): string {
  return line.replace(invisibleCharacters, '').trim()
}

/** Returns true if a line has only white space. */
export function isBlank(line: string): boolean {
  return line.trim() === ''
}

const maxDelimiterChars = 200

/** Returns true for a line of dashes or similar signs only, perhaps with an invisible character of a mail tracker. */
export function isDelimiterLine(line: string): boolean {
  return line.length < maxDelimiterChars && /^[\s\-_=+~#*—–\u1427\u200b]+$/u.test(line)
}

/**
 * Returns true if the nearest text above ends with a colon, with which people announce lines that they quote by hand.
 */
export function isAnnounced(lines: readonly string[], index: number): boolean {
  return /[:：]\s*$/.test(findAbove(lines, index))
}

/** Finds the nearest line above that is not blank. */
export function findAbove(lines: readonly string[], index: number): string {
  let lineIndex = index - 1
  while (lineIndex >= 0 && isBlank(lines[lineIndex] ?? '')) lineIndex -= 1
  return lines[lineIndex] ?? ''
}
