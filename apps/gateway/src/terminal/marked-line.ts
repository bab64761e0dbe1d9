import type { Style } from './style.ts'
import { paint } from './style.ts'
import { wrapText } from './wrap.ts'

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
