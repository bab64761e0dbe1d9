/** Only this much is looked at; longer text is handed on whole. */
const [maxChars, maxLines] = [256 * 1024, 5000]
const quoteLine = /^\s?>/
const opening = /^(on|am|le|el|il|op|em|den|dnia)\b/i
/** Lines a mail program puts above a quotation of everything before; they end in a colon and name no content. */
const introductions = [
  /^(on|am|le|el|il|op|em|den|dnia)\b.{4,300}:$/i,
  /^.{2,200}\b(wrote|writes|schrieb|a écrit|escribió|ha scritto|schreef|escreveu|skrev|napisał\(a\)|napisał)\s?:$/i,
]
const separators = [
  /^-{3,10} ?(original message|ursprüngliche nachricht|message d'origine|mensaje original|messaggio originale) ?-{3,10}$/i,
]
const underline = /^_{20,}\s*$/
const replyHeader = /^\*?(from|von|de|da|van|från|fra)\*?:/i
const replyHeaderNext = /^\*?(sent|date|gesendet|datum|envoyé|enviado|fecha|inviato|data|to|an|subject|betreff)\*?\s?:/i

/**
 * The new text of a reply: without the quotation of the whole message at its end. In one pass, line by line. Whatever is
 * not surely a tail of quotation stays: answers between quoted lines keep everything.
 */
export function trimReply(text: string): string {
  if (text.length > maxChars) return text
  const lines = text.split('\n')
  if (lines.length > maxLines) return text
  const kept = lines.slice(0, findTail(lines)).join('\n').trimEnd()
  return kept.trim() ? kept : text
}

/** Index of the first line of the quoted tail; the number of lines when there is none. */
function findTail(lines: readonly string[]): number {
  const separator = lines.findIndex((line, index) => isSeparator(line) || isReplyHeader(lines, index))
  const end = separator < 0 ? lines.length : separator
  return trimQuotes(lines, end)
}

function isSeparator(line: string): boolean {
  return line.length < 400 && separators.some(separator => separator.test(line.trim()))
}

/** Outlook quotes without marks, below a block of header lines. */
function isReplyHeader(lines: readonly string[], index: number): boolean {
  const start = underline.test(lines[index] ?? '') ? index + 1 : index
  if (!replyHeader.test(lines[start] ?? '')) return false
  const next = lines.slice(start + 1, start + 4).map(line => line.slice(0, 40).trim())
  return next.filter(line => replyHeaderNext.test(line)).length >= 2
}

/** Takes the quoted lines at the end away, and the introduction above them; only when there was a quotation. */
function trimQuotes(lines: readonly string[], end: number): number {
  let tail = end
  let hasQuote = false
  while (tail > 0 && (isQuote(lines[tail - 1]) || isBlank(lines[tail - 1]))) {
    tail -= 1
    hasQuote ||= isQuote(lines[tail])
  }
  return hasQuote ? trimIntroduction(lines, tail) : end
}

/** An introduction may be wrapped over two lines. */
function trimIntroduction(lines: readonly string[], end: number): number {
  const [first, last] = [(lines[end - 2] ?? '').trim(), (lines[end - 1] ?? '').trim()]
  if (!opening.test(last) && opening.test(first) && isIntroduction(`${first} ${last}`)) return end - 2
  return isIntroduction(last) ? end - 1 : end
}

function isIntroduction(line: string): boolean {
  return line.length < 600 && introductions.some(introduction => introduction.test(line))
}

function isQuote(line: string | undefined): boolean {
  return line !== undefined && quoteLine.test(line)
}

function isBlank(line: string | undefined): boolean {
  return line !== undefined && line.trim() === ''
}
