// Recognizes the lines between a text and the message that it answers or forwards.
import { createAlternativesPattern, listPhrases } from './phrase-table.ts'
import { readVisibleLine } from './quoted-line.ts'

const maxSeparatorChars = 200
const forwardedPhrase = createAlternativesPattern(listPhrases('forwarded'))
const begunPhrase = createAlternativesPattern(listPhrases('begun'))
const originalPhrase = createAlternativesPattern(listPhrases('original').filter(phrase => phrase !== 'original'))

/** Matches the line above forwarded text. Forwarded text is the topic of the mail, and is not removed. */
const forwardLinePattern = new RegExp(
  `^\\*?(?:[-=_]{2,30} ?${forwardedPhrase} ?[-=_]{2,30}|${begunPhrase}\\s?[:：])\\*?$`,
  'iu',
)
/** Matches the spaces that QQ writes as HTML even into plain text. */
const qqSpaces = '(?:\\s|&nbsp;){0,6}'
const separatorPattern = new RegExp(
  // The second alternative is the line of QQ, and the third is the line of GroupWise: `>>> name date >>>`.
  `^\\*?[-=_]{2,30}${qqSpaces}${originalPhrase}${qqSpaces}[-=_]{2,30}\\*?$|^-{10,40}${qqSpaces}Original${qqSpaces}-{10,40}$|^>>> [^<>]{1,100}(?:<[^<>\\s]{3,100}> )?[^<>]{0,20}\\p{Nd}[^<>]{0,20} >>>$`,
  'iu',
)

/** Returns true if a text has an unquoted line that announces forwarded text below it. */
export function hasForwardLine(text: string): boolean {
  return text.split('\n').some(isForwardLine)
}

/** Returns true if a line announces forwarded text below it. */
export function isForwardLine(line: string): boolean {
  return line.length < maxSeparatorChars && forwardLinePattern.test(readVisibleLine(line))
}

/** Returns true if everything below a line is the answered message, with or without quote prefixes. */
export function isSeparator(line: string): boolean {
  return line.length < maxSeparatorChars && separatorPattern.test(readVisibleLine(line).normalize('NFC'))
}
