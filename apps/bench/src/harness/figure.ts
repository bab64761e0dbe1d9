import type { Cores } from '../servers/process.ts'
import type { EarlierTree } from './earlier-tree.ts'
import { formatColumns } from './report.ts'

/** One figure beside the one it is compared with, both of the same run. */
export interface Figure {
  readonly case: string
  readonly name: string
  readonly note: string
  readonly value: number
  readonly unit: string
  /** Absent for what others are compared with. */
  readonly ratio?: number | undefined
  /** The other figure of the ratio, in the same unit; absent where that is a fixed bound. */
  readonly beside?: number | undefined
  /** What the ratio is of: "÷ alone". */
  readonly against?: string | undefined
  readonly aim?: { readonly atLeast: number } | { readonly atMost: number } | undefined
}

/** What a probe may take its time for. */
export interface ProbeOptions {
  readonly rounds: number
  readonly seconds: number
  readonly cores: Cores | undefined
  /** Fewer of everything. */
  readonly quick: boolean
  /** As many as anybody promised. */
  readonly full: boolean
  /** Measure against this instead of peers and floors; only where a commit is comparable. */
  readonly earlier?: EarlierTree | undefined
  /** Tells a waiting person what goes on. */
  progress(text: string): void
}

/** A measurement that is not a race of servers with the same requests. */
export type Probe = (options: ProbeOptions) => Promise<readonly Figure[]>

const headings = ['case', 'what', 'figure', 'beside', '', 'ratio', 'aim']

export function formatFigures(figures: readonly Figure[]): string {
  const rows = figures.map((figure, index) => formatFigure(figure, figures[index - 1]?.case))
  const notes = figures.map(({ case: title, name, note }) => `  ${title}, ${name}: ${note}`)
  return [formatColumns([headings, ...rows]), '', 'What was done:', ...notes].join('\n')
}

function formatFigure(
  { case: title, name, value, beside, unit, ratio, against, aim }: Figure,
  above: string | undefined,
): string[] {
  return [
    title === above ? '' : title,
    name,
    formatValue(value),
    beside === undefined ? '' : formatValue(beside),
    unit,
    ratio === undefined ? '' : `${ratio.toFixed(2)} ${against ?? ''}`,
    aim === undefined || ratio === undefined ? '' : formatAim(aim, ratio),
  ]
}

function formatValue(value: number): string {
  return value.toFixed(value < 100 ? 1 : 0)
}

function formatAim(aim: NonNullable<Figure['aim']>, ratio: number): string {
  const [sign, bound, isMet] =
    'atLeast' in aim ? ['≥', aim.atLeast, ratio >= aim.atLeast] : ['≤', aim.atMost, ratio <= aim.atMost]
  return `${sign} ${bound} ${isMet ? 'met' : 'missed'}`
}
