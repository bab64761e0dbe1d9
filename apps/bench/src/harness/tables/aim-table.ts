// Collects the figures that stand for an aim of the engine, and formats them as a table.
import type { Bound } from '../../aims/bound.ts'
import { formatVerdict, isMet } from '../../aims/bound.ts'
import { rows } from '../../aims/rows.ts'
import { formatColumns, formatValue } from './columns.ts'
import type { Figure } from './figure.ts'
import type { SummaryRow } from './summary.ts'

/** The figure of one row of the aims. */
export interface AimFigure {
  /** The text of the row. */
  readonly row: string
  /** The figure: a ratio, or a value in `unit`. */
  readonly figure: number
  /** The unit; absent for a ratio. */
  readonly unit?: string
  readonly aim?: Bound
  readonly isMet?: boolean
}

type AimMeasurement = Pick<SummaryRow, 'row' | 'aim' | 'ratio'> & Partial<Pick<Figure, 'value' | 'unit'>>

/** Collects the lines and figures that stand for an aim, in the order of the aims. */
export function collectAims(measured: readonly AimMeasurement[]): readonly AimFigure[] {
  return Object.values(rows).flatMap(({ row }) =>
    measured.filter(line => line.row === row).map(line => toAim(row, line)),
  )
}

function toAim(row: string, { ratio, value = Number.NaN, unit, aim }: AimMeasurement): AimFigure {
  const figure = ratio ?? value
  return {
    row,
    figure,
    ...(ratio === undefined && unit && { unit }),
    ...(aim && { aim, isMet: isMet(aim, figure) }),
  }
}

/** Formats the aims of a run: what was measured, and the verdict. */
export function formatAims(aims: readonly AimFigure[]): string {
  const lines = aims.map(({ row, figure, unit = '', aim }) => [
    row,
    unit === '' ? figure.toFixed(2) : formatValue(figure),
    unit,
    aim ? formatVerdict(aim, figure) : 'none',
  ])
  return formatColumns([['row', 'figure', '', 'aim'], ...lines], 1)
}
