/** Finds the length of unfinished Markdown that later text cannot turn into something else. */

/** The number of characters for which a mark waits for its counterpart before it counts as text. Addresses and table rows may be longer. */
const maxPending = 256
const maxLongPending = 2_000

/** Matches the start of a line that later characters can turn into something else: a list, a heading, a rule, a row, the end of a fence. */
const undecidedLine = /^[-+*=_#~`:|>.)\d\s]*$/
const fenceOpening = /^[\s>]*(?:[-+*]\s+)?(?:`{3}|~{3})/
/** Matches a link reference definition, which renders as nothing. */
const definition = /^ {0,3}\[[^\]]*\]:/
const row = /^[\s>]*\|/
const delimiterRow = /^[\s>:|-]*$/

/**
 * Returns the length of the text that can be shown. A half-written link, address, code span, emphasis, table head or start of a line waits
 * for its counterpart. Looks only at the last lines.
 * @param {string} text
 */
export function findStableLength(text) {
  const lineAt = text.lastIndexOf('\n') + 1
  const line = text.slice(lineAt)
  const table = findTableHead(text, lineAt)
  if (table < text.length && text.length - table <= maxLongPending) return table
  if (line.length <= maxPending && (undecidedLine.test(line) || fenceOpening.test(line))) return lineAt
  if (line.length <= maxLongPending && definition.test(line)) return lineAt
  const windowAt = Math.max(0, line.length - maxLongPending)
  return lineAt + windowAt + findStableLineLength(line.slice(windowAt))
}

/** Finds the start of rows that may be a table's head, which only the next row decides. @param {string} text @param {number} lineAt */
function findTableHead(text, lineAt) {
  const previousAt = lineAt === 0 ? -1 : text.lastIndexOf('\n', lineAt - 2) + 1
  const [line, previous] = [text.slice(lineAt), previousAt < 0 ? '' : text.slice(previousAt, lineAt)]
  if (!row.test(previous)) return row.test(line) ? lineAt : text.length
  const beforeAt = previousAt === 0 ? -1 : text.lastIndexOf('\n', previousAt - 2) + 1
  const isSecond = beforeAt < 0 || !row.test(text.slice(beforeAt, previousAt))
  return isSecond && delimiterRow.test(line) ? previousAt : text.length
}

const mark =
  /\\(?:.|$)|`+|<(?:https?:|mailto:)[^\s<>]*>?|(?:https?|mailto):[^\s<>]*|&[#\w]*;?|!?\[|\](?:\((?:[^()]|\([^()]*(?:\)|$))*\)?)?|[*_~]+|!$/gi

/** Returns the length of the text before the first mark that is still open. @param {string} line */
function findStableLineLength(line) {
  /** @type {{ text: string, at: number, held: number }[]} */
  const open = []
  for (const { 0: text, index } of line.matchAll(mark)) {
    const isLast = index + text.length === line.length
    const code = open.find(each => each.text[0] === '`')
    if (code) {
      if (text === code.text && !isLast) open.length = open.indexOf(code)
      continue
    }
    readMark(open, { text, at: index, isLast, before: line[index - 1] ?? ' ', after: line[index + text.length] ?? ' ' })
  }
  return open.find(({ at, held }) => line.length - at <= held)?.at ?? line.length
}

/**
 * Opens or closes the syntax of a mark.
 * @param {{ text: string, at: number, held: number }[]} open
 * @param {{ text: string, at: number, isLast: boolean, before: string, after: string }} found
 */
function readMark(open, { text, at, isLast, before, after }) {
  const kind = text.at(-1) === '[' ? '[' : (text[0] ?? '')
  if (kind === '[' || kind === '`') open.push({ text: kind === '[' ? '[' : text, at, held: maxPending })
  else if (kind === ']') readLinkEnd(open, { text, isLast })
  else if ('*_~'.includes(kind)) readEmphasis(open, { text, at, isLast, before, after })
  // The text may still become an address, an entity, an escape or an image.
  else if (isLast && !/[>;]$|^\\./.test(text)) open.push({ text, at, held: maxLongPending })
}

/** @param {{ text: string, held: number }[]} open @param {{ text: string, isLast: boolean }} found */
function readLinkEnd(open, { text, isLast }) {
  if (!isLast || text.endsWith(')')) cutAt(open, '[')
  const link = open.findLast(each => each.text === '[')
  if (link && isLast) link.held = maxLongPending
}

/**
 * @param {{ text: string, at: number, held: number }[]} open
 * @param {{ text: string, at: number, isLast: boolean, before: string, after: string }} found
 */
function readEmphasis(open, { text, at, isLast, before, after }) {
  const isClosing = /\S/.test(before)
  if (isClosing && !isLast && cutAt(open, text[0] ?? '')) return
  const isOpening = /\S/.test(after) && !/[\p{L}\p{N}]/u.test(before)
  if (isOpening || isLast) open.push({ text, at, held: maxPending })
}

/** Removes the newest open mark of a kind, and everything that was opened after it. @param {{ text: string }[]} open @param {string} kind */
function cutAt(open, kind) {
  const at = open.findLastIndex(({ text }) => text[0] === kind)
  if (at >= 0) open.length = at
  return at >= 0
}
