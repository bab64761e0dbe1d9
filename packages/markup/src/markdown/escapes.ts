// Removes the backslash escapes from Markdown that people read as plain text.

/** Matches a backslash before ASCII punctuation or at the end of a line (CommonMark §2.4, §6.7). */
const escaped = /\\(?:([!-/:-@[-`{-~])|(?=\n))/g
const fence = /^ {0,3}(?:```|~~~)/

/** Returns Markdown without its backslash escapes. Code stays as it is. It takes linear time. */
export function withoutEscapes(markdown: string): string {
  if (!markdown.includes('\\')) return markdown
  let inside: string | undefined
  return markdown
    .split(/(?<=\n)/)
    .map(line => {
      const mark = fence.exec(line)?.[0].trim()
      if (mark !== undefined && (inside === undefined || inside === mark)) {
        inside = inside === undefined ? mark : undefined
        return line
      }
      return inside === undefined && !/^(?: {4}|\t)/.test(line) ? readLine(line) : line
    })
    .join('')
}

/** Removes the escapes of a line outside its code spans, which end with as many backticks as they begin with (CommonMark §6.1). */
function readLine(line: string): string {
  const pieces = line.split(/((?<!\\)`+)/)
  const lastOf = new Map(pieces.map((piece, at) => [at % 2 === 1 ? piece : '', at]))
  let closing: string | undefined
  return pieces
    .map((piece, at) => {
      if (at % 2 === 0) return closing === undefined ? piece.replace(escaped, '$1') : piece
      if (closing === undefined && (lastOf.get(piece) ?? at) > at) closing = piece
      else if (closing === piece) closing = undefined
      return piece
    })
    .join('')
}
