// Recognizes the line above a quotation: "On … wrote:".
import { isDeviceLine } from './device-line.ts'
import { createAlternativesPattern, listPhrases } from './phrase-table.ts'
import { isAnnounced, isBlank, isQuotedLine, readVisibleLine } from './quoted-line.ts'

/** The maximum numbers of lines and characters of an introduction, which may be wrapped. */
const [maxWrappedLines, maxIntroductionChars] = [6, 400]

/** Matches scripts without spaces between words, in which a verb has no visible boundaries. */
const unspacedScriptPattern = /^\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Hangul}|\p{Script=Thai}|\p{Script=Khmer}/u
const verbs = listPhrases('wrote')
const spacedVerb = `(?<![\\p{L}\\p{N}\\p{M}])${createAlternativesPattern(verbs.filter(verb => !unspacedScriptPattern.test(verb)))}(?![\\p{L}\\p{N}\\p{M}])`
const anyVerb = `(?:${spacedVerb}|${createAlternativesPattern(verbs.filter(verb => unspacedScriptPattern.test(verb)))})`
const writingPattern = new RegExp(anyVerb, 'iu')
const writingEndPattern = new RegExp(`${anyVerb}\\s?(?:[:：៖.։]|[:：]?\\s?-{2,})?$`, 'iu')

/** Matches the end of an Armenian introduction: the date comes last, with a case suffix and without a colon. */
const armenianEndPattern = /ին[.։]?$/u

/** Matches a first person. No program writes about its owner in the first person. */
const firstPersonPattern =
  /(?:^|\s)(?:I|ich|je|yo|io|ik|eu|jag|jeg|ja|я|já)\s+(?:\S{1,12}\s)?\S{3,12}\s?[:：]$|(?:^|\s)j['’]ai\s|(?:^|\s)(?:schrieb|skrev|schreef)\s+(?:ich|jag|jeg|ik)(?:\s|[:：])/iu

/** Matches the first word of an introduction that begins with its date. */
const dateWordPattern =
  /^(?:-{2,} )?(?:on|at|am|le|el|il|op|em|den|dnia|dne|dňa|på|w dniu|ve|v|a|la|în|na|на|dana|дана|pada|þann|më|je|di|ar|di|vào|στις|tarihinde|в|пн|вт|ср|чт|пт|сб|вс|понедельник|вторник|среда|четверг|пятница|суббота|воскресенье|po|út|st|čt|pá|so|ne|في|על|ב|בתאריך|در|เมื่อ|ในวันที่|在)(?![\p{L}\p{N}])|^在\s?\d/iu
/**
 * Matches dates at the beginning: `2016-03-03 17:21 GMT+01:00 Some One`, `2013/7/20 Some One <a@b.example>`, `2026年5月3日`, `2026. 5. 3.`, `3. května
 * 2026`.
 */
const datePattern =
  /^\p{Nd}{1,4}(?:[-./ ]\s?(?:\p{Nd}{1,2}[-./]\s?\p{Nd}{1,4}\.?|\p{L}{3,12}\.?)(?=[\s,، 、])|年\s?\p{Nd}{1,2}月|년\s?\p{Nd}{1,2}월)/u
/** Matches a time of day. Only programs write a time and a mailbox in one line. */
const timePattern = /\p{Nd}{1,2}[:：時시點点h.]\s?\p{Nd}{2}(?!\p{Nd})/u
const mailboxPattern = /[<(](?:mailto:)?[^<>()\s]+@[^<>()\s]+[>)]|\[mailto:|\(mailto:/i
/** Matches the introduction of Tuta: date, time, a word for "by", and the address without brackets. */
const tutaPattern =
  /^\S{1,12} ?\S{1,12},? \S{0,12},? ?\p{Nd}{1,2}[:.]\p{Nd}{2}(?:\s?[ap]\.?m\.?)?,? \S{1,12}(?: \S{1,12})? \S+@\S+[:：]$/iu
/** Matches the introduction of HCL Notes: `-----name wrote: -----`. */
const notesPattern = new RegExp(`^-{3,10}\\s?\\S.{0,200}${anyVerb}\\s?[:：]?\\s?-{3,10}$`, 'iu')

/** Returns the number of lines, from `index` on, that introduce a quotation. It returns 0 if they introduce none. */
export function measureIntroduction(lines: readonly string[], index: number): number {
  const first = readVisibleLine(lines[index])
  if (notesPattern.test(first)) return 1
  const isDated = dateWordPattern.test(first) || datePattern.test(first)
  if (isDated && isBareIntroduction(first) && (isQuoteNext(lines, index + 1) || standsApart(lines, index, 1))) return 1
  const mayBeWrapped = isDated || /\S@\S|<$/.test(first) || timePattern.test(first)
  const count = countIntroductionLines(lines, index, { isDated, maxLines: mayBeWrapped ? maxWrappedLines : 1 })
  return count > 1 && beginsBelow(lines, index, count) ? 0 : count
}

/**
 * Returns true if an introduction begins on a line below the first one. The author's own last line may look like a beginning, and then a later line
 * has a complete date and time.
 */
function beginsBelow(lines: readonly string[], index: number, count: number): boolean {
  for (let lineIndex = index + 1; lineIndex < index + count; lineIndex += 1) {
    const line = readVisibleLine(lines[lineIndex])
    const isDated = /\p{Nd}/u.test(line) && (dateWordPattern.test(line) || datePattern.test(line))
    const mayOpen = isDated || (timePattern.test(line) && dayPattern.test(line))
    const remainingLines = lines
      .slice(lineIndex, index + count)
      .map(readVisibleLine)
      .join(' ')
      .trim()
    if (mayOpen && isIntroduction(remainingLines, { isDated, hasQuoteBelow: () => true })) return true
  }
  return false
}

/** Matches the numbers of a date besides those of the time. */
const dayPattern = /(?:\p{Nd}{1,4}(?!\p{Nd})[^<>\p{Nd}]{1,20}){3}/u

interface WrapOptions {
  readonly isDated: boolean
  readonly maxLines: number
}

function countIntroductionLines(lines: readonly string[], index: number, { isDated, maxLines }: WrapOptions): number {
  let joinedText = ''
  for (let count = 1; count <= maxLines && index + count <= lines.length; count += 1) {
    const line = readVisibleLine(lines[index + count - 1])
    if (isQuotedLine(line) || (line === '' && !isGapBeforeMailbox(lines, index + count))) return 0
    joinedText = `${joinedText} ${line}`.trim()
    if (joinedText.length > maxIntroductionChars) return 0
    const signs = { isDated, hasQuoteBelow: () => isQuoteNext(lines, index + count) }
    const isQuotationBelow = () =>
      signs.hasQuoteBelow() || (isFromProgram(joinedText) && standsApart(lines, index, count))
    if (isIntroduction(joinedText, signs) && isQuotationBelow()) return count
  }
  return 0
}

/** Returns true for the blank line that Polymail leaves before the bracket of the mailbox. */
function isGapBeforeMailbox(lines: readonly string[], lineIndex: number): boolean {
  return (lines[lineIndex] ?? '').trim() === '<'
}

/**
 * Returns true for an introduction with a time of day or a mailbox and without a first person. The text below it is a
 * quotation, even without prefixes.
 */
function isFromProgram(introduction: string): boolean {
  return (timePattern.test(introduction) || mailboxPattern.test(introduction)) && !firstPersonPattern.test(introduction)
}

/**
 * Returns true if blank lines separate an introduction from the text around it, and no line announces it. Some programs
 * write an introduction directly below their own name.
 */
function standsApart(lines: readonly string[], index: number, count: number): boolean {
  if (isDeviceLine({ line: lines[index - 1] ?? '', isBelowText: false })) return true
  return isBlank(lines[index - 1] ?? '') && isBlank(lines[index + count] ?? '') && !isAnnounced(lines, index)
}

/** Returns true if a quoted line or nothing follows. Only then do a name and a verb alone introduce a quotation. */
function isQuoteNext(lines: readonly string[], start: number): boolean {
  const nextLine = lines.slice(start, start + 3).find(line => !isBlank(line))
  return nextLine === undefined ? start + 3 >= lines.length : isQuotedLine(nextLine)
}

interface IntroductionSigns {
  readonly isDated: boolean
  /** Returns true if a quoted line follows. */
  readonly hasQuoteBelow: () => boolean
}

function isIntroduction(text: string, { isDated, hasQuoteBelow }: IntroductionSigns): boolean {
  if (!isDated && !text.includes('@') && !/\p{Nd}/u.test(text)) return false
  const hasTime = timePattern.test(text)
  if (!/[:：៖]$/.test(text)) {
    const endsLikeIntroduction = /[.։-]$/.test(text) || (hasTime && (mailboxPattern.test(text) || hasQuoteBelow()))
    return endsLikeIntroduction && endsWithoutColon(text)
  }
  // In any language, a time, a writer with a mailbox and a colon introduce a quote.
  if (hasTime && mailboxPattern.test(text)) return true
  if (writingPattern.test(text) || (datePattern.test(text) && /[>＞][:：]$/.test(text))) return true
  return hasTime && (tutaPattern.test(text) || datePattern.test(text)) && hasQuoteBelow()
}

function endsWithoutColon(text: string): boolean {
  return writingEndPattern.test(text.slice(-60)) || (armenianEndPattern.test(text) && writingPattern.test(text))
}

/** Returns true for the introductions that some programs end without a colon: a date and time with a name, or a date with a mailbox. */
function isBareIntroduction(line: string): boolean {
  return (
    datePattern.test(line) && (/\d:\d\d (?:GMT|UTC)\S* \S/.test(line) || /^[\d/.-]+ [^<>]{1,80}<\S+@\S+>:?$/.test(line))
  )
}
