// Formats text for a terminal: safe characters, tables, wrapped lines and colours.

/**
 * Matches characters that are invisible or change the direction of writing, except in emoji. A peer could use them to repaint the operator's screen,
 * or to hide text that a model reads.
 */
const unsafeLineCharacters = /(\p{RGI_Emoji})|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gv

/** Matches the same characters, except line breaks and tabs. */
const unsafeOutputCharacters =
  /(\p{RGI_Emoji})|[[\p{Cc}--[\n\t]]\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gv

/** Escapes a foreign text so that it is safe as one line of a terminal. Invisible characters become `\u{…}`. */
export function toTerminalLine(text: string): string {
  return text.replace(
    unsafeLineCharacters,
    (character, emoji?: string) => emoji ?? `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}

/** Escapes any output so that it is safe for a terminal. Invisible characters become `\uXXXX`, which JSON reads back as the same character. */
export function toTerminalOutput(text: string): string {
  return text.replace(
    unsafeOutputCharacters,
    (character, emoji?: string) => emoji ?? character.split('').map(escapeUnit).join(''),
  )
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Formats rows under a heading. Each column is as wide as its widest cell; the last one is not padded. */
export function formatTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return 'none'
  const allRows = [heading, ...rows.map(row => row.map(toTerminalLine))]
  const widths = heading.map((_, column) => Math.max(...allRows.map(row => row[column]?.length ?? 0)))
  return allRows
    .map(row =>
      row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join('  '),
    )
    .join('\n')
}

/** Breaks a text between words into lines of at most `columns` characters. A longer word stays whole, because people may copy it. */
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

const styleCodes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const

export type Style = keyof typeof styleCodes

/** Colours a text if the terminal has colours. */
export function paint(text: string, style: Style, { hasColour }: { readonly hasColour: boolean }): string {
  return hasColour ? `\u001b[${styleCodes[style]}m${text}\u001b[0m` : text
}

/** The width and the colours of the output. */
export interface Screen {
  /** The number of characters in a line. */
  readonly columns: number
  readonly hasColour: boolean
}

interface MarkedLine {
  /** One character with its colour. */
  readonly mark: readonly [mark: string, style: Style]
  /** The number of spaces before the mark. */
  readonly margin: number
  /** A text in a separate column before `text`. */
  readonly label?: string
  readonly text: string
  /** The fix, which is shown below the finding. */
  readonly fix?: string | undefined
}

/** Formats a finding with its fix. Further lines are indented to the beginning of the text. */
export function formatMarkedLine({ mark, margin, label, text, fix }: MarkedLine, screen: Screen): readonly string[] {
  const column = label === undefined ? '' : `${label} `
  const indent = ' '.repeat(margin + 2 + column.length)
  const width = screen.columns - indent.length
  const [firstLine = '', ...furtherLines] = wrapText(text, width)
  const lines = [`${' '.repeat(margin)}${paint(mark[0], mark[1], screen)} ${column}${firstLine}`]
  const [firstFixLine, ...fixLines] = fix === undefined ? [] : wrapText(`→ ${fix}`, width - 2)
  const indentedLines = [
    ...furtherLines,
    ...(firstFixLine === undefined ? [] : [firstFixLine]),
    ...fixLines.map(line => `  ${line}`),
  ]
  return [...lines, ...indentedLines.map(line => `${indent}${line}`)]
}
