// Formats the figures of a probe as a table, with ratios and aims.
import { formatVerdict } from '../../aims/bound.ts'
import type { Aim } from '../../aims/rows.ts'
import type { EarlierTree } from '../earlier-tree.ts'
import type { RoundsOptions } from '../rounds.ts'
import { formatCases, formatValue } from './columns.ts'

/**
 * One figure and the one that it is compared with, both of the same run. The bound of its `aim` is for the ratio, or for the value if there is no
 * ratio.
 */
export interface Figure extends Partial<Aim> {
  readonly case: string
  readonly name: string
  readonly note: string
  readonly value: number
  readonly unit: string
  /** The ratio; absent for the figure that others are compared with. */
  readonly ratio?: number | undefined
  /** The other figure of the ratio, in the same unit; absent if it is a fixed bound. */
  readonly referenceValue?: number | undefined
  /** The base of the ratio, such as "÷ alone". */
  readonly ratioLabel?: string | undefined
}

/** Options for the length of a probe. */
export interface ProbeOptions extends RoundsOptions {
  /** True for fewer rounds, messages and stored messages. */
  readonly quick: boolean
  /** True to measure the largest promised sizes: up to a million stored messages. */
  readonly full: boolean
  /** An earlier commit to measure against, instead of peers and minimal servers; only for comparable measurements. */
  readonly earlier?: EarlierTree | undefined
}

/** Measures something other than a race of servers with the same requests. */
export type Probe = (options: ProbeOptions) => Promise<readonly Figure[]>

const headings = ['case', 'what', 'figure', 'reference', '', 'ratio', 'aim']

export function formatFigures(figures: readonly Figure[]): string {
  return formatCases(headings, figures, formatFigure, ['What was done:'])
}

function formatFigure({ value, referenceValue, unit, ratio, ratioLabel, aim }: Figure): readonly string[] {
  return [
    formatValue(value),
    referenceValue === undefined ? '' : formatValue(referenceValue),
    unit,
    ratio === undefined ? '' : `${ratio.toFixed(2)} ${ratioLabel ?? ''}`,
    aim === undefined ? '' : formatVerdict(aim, ratio ?? value),
  ]
}
