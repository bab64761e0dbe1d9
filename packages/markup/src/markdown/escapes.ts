// Removes the backslash escapes from Markdown that people read as plain text.

/** Matches a backslash before ASCII punctuation or at the end of a line (CommonMark §2.4, §6.7). */
const escapePattern = /\\(?:([!-/:-@[-`{-~])|(?=\n))/g
const fencePattern = /^ {0,3}(?:```|~~~)/

/** Returns Markdown without its backslash escapes. Code does not change. The removal takes linear time. */
export function removeEscapes(markdown: string): string {
  if (!markdown.includes('\\')) return markdown
  let openFence: string | undefined
  return markdown
    .split(/(?<=\n)/)
    .map(line => {
      const fenceMarker = fencePattern.exec(line)?.[0].trim()
      if (fenceMarker !== undefined && (openFence === undefined || openFence === fenceMarker)) {
        openFence = openFence === undefined ? fenceMarker : undefined
        return line
      }
      return openFence === undefined && !/^(?: {4}|\t)/.test(line) ? unescapeLine(line) : line
    })
    .join('')
}

/** Removes the escapes of a line outside its code spans, which end with as many backticks as they begin with (CommonMark §6.1). */
function unescapeLine(line: string): string {
  const pieces = line.split(/((?<!\\)`+)/)
  const lastIndexes = new Map(pieces.map((piece, index) => [index % 2 === 1 ? piece : '', index]))
  let closingRun: string | undefined
  return pieces
    .map((piece, index) => {
      if (index % 2 === 0) return closingRun === undefined ? piece.replace(escapePattern, '$1') : piece
      if (closingRun === undefined && (lastIndexes.get(piece) ?? index) > index) closingRun = piece
      else if (closingRun === piece) closingRun = undefined
      return piece
    })
    .join('')
}
