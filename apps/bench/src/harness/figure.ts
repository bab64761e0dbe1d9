import type { EarlierTree } from './earlier-tree.ts'
import { formatCases, formatValue } from './report.ts'
import type { RoundsOptions } from './rounds.ts'

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
export interface ProbeOptions extends RoundsOptions {
  /** Fewer of everything: rounds, messages and stored messages. */
  readonly quick: boolean
  /** As many as anybody promised: up to a million stored messages. */
  readonly full: boolean
  /** Measure against this instead of peers and floors; only where a commit is comparable. */
  readonly earlier?: EarlierTree | undefined
}

/** A measurement that is not a race of servers with the same requests. */
export type Probe = (options: ProbeOptions) => Promise<readonly Figure[]>

const headings = ['case', 'what', 'figure', 'beside', '', 'ratio', 'aim']

export function formatFigures(figures: readonly Figure[]): string {
  return formatCases(headings, figures, formatFigure, ['What was done:'])
}

function formatFigure({ value, beside, unit, ratio, against, aim }: Figure): readonly string[] {
  return [
    formatValue(value),
    beside === undefined ? '' : formatValue(beside),
    unit,
    ratio === undefined ? '' : `${ratio.toFixed(2)} ${against ?? ''}`,
    aim === undefined || ratio === undefined ? '' : formatAim(aim, ratio),
  ]
}

function formatAim(aim: NonNullable<Figure['aim']>, ratio: number): string {
  const [sign, bound, isMet] =
    'atLeast' in aim ? ['≥', aim.atLeast, ratio >= aim.atLeast] : ['≤', aim.atMost, ratio <= aim.atMost]
  return `${sign} ${bound} ${isMet ? 'met' : 'missed'}`
}
