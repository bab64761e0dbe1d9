/** Controls and what turns the direction of writing: a peer could repaint the operator's screen with them. */
const unshowable = /[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

/** The same, but for what parts lines and columns. */
const unprintable = /[^\P{Cc}\n\t]|[\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

/** One line for a terminal, whoever wrote it: what would not be seen as a character stands as `\u{…}`. */
export function toTerminalLine(text: string): string {
  return text.replace(unshowable, char => `\\u{${char.codePointAt(0)?.toString(16)}}`)
}

/** Whatever a command prints, JSON of others too: what would not be seen stands as `\uXXXX`, which JSON reads back as the same. */
export function toTerminalOutput(text: string): string {
  return text.replace(unprintable, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Rows under a heading, columns as wide as their widest cell; the last column is not padded. */
export function formatTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return 'none'
  const all = [heading, ...rows.map(row => row.map(toTerminalLine))]
  const widths = heading.map((_, column) => Math.max(...all.map(row => row[column]?.length ?? 0)))
  return all
    .map(row =>
      row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join('  '),
    )
    .join('\n')
}

/** Lines of at most so many characters, broken between words. A longer word stands alone, whole: it may be copied. */
export function wrapText(text: string, columns: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > columns) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const

export type Style = keyof typeof codes

/** With a colour where the terminal has them. */
export function paint(text: string, style: Style, { hasColour }: { readonly hasColour: boolean }): string {
  return hasColour ? `\u001b[${codes[style]}m${text}\u001b[0m` : text
}

/** A terminal, as far as somebody looks at one. */
export interface Screen {
  /** Characters of a line. */
  readonly columns: number
  readonly hasColour: boolean
}

interface MarkedLine {
  /** One character, and its colour. */
  readonly mark: readonly [mark: string, style: Style]
  /** Spaces before it. */
  readonly margin: number
  /** Stands in a column of its own, as wide as it is. */
  readonly label?: string
  readonly text: string
  /** How it is mended, below. */
  readonly fix?: string | undefined
}

/** A finding with its fix: later lines stand below the beginning of the text. */
export function formatMarkedLine({ mark, margin, label, text, fix }: MarkedLine, screen: Screen): readonly string[] {
  const column = label === undefined ? '' : `${label} `
  const indent = ' '.repeat(margin + 2 + column.length)
  const width = screen.columns - indent.length
  const [first = '', ...rest] = wrapText(text, width)
  const lines = [`${' '.repeat(margin)}${paint(mark[0], mark[1], screen)} ${column}${first}`]
  const [fixed, ...more] = fix === undefined ? [] : wrapText(`→ ${fix}`, width - 2)
  const below = [...rest, ...(fixed === undefined ? [] : [fixed]), ...more.map(line => `  ${line}`)]
  return [...lines, ...below.map(line => `${indent}${line}`)]
}
