// Formats and reads the column that has all attempts of a turn.
import type { TurnAttempt } from '@postern/message'
import { formatJson, parseJson } from '../../sql/json-columns.ts'

/** The size of stored attempts above which the next attempt replaces them. The newest attempts show why the turn does not end. */
const attemptsResetBytes = 12 * 1024

/** Formats the SQL that appends an attempt to the column `trace`. `parameter` is the numbered parameter with the result of `formatAttempt`. */
export function appendAttemptSql(parameter: string): string {
  return `CASE WHEN octet_length(coalesce(trace, '')) > ${attemptsResetBytes} THEN '' ELSE coalesce(trace, '') END || ${parameter}`
}

/** Formats an attempt as a line of JSON. Without an attempt, the result is empty. */
export function formatAttempt(attempt: TurnAttempt | undefined): string {
  return attempt === undefined ? '' : `${formatJson(attempt)}\n`
}

export function readAttempts(trace: string | null): readonly TurnAttempt[] {
  const lines = trace?.split('\n') ?? []
  return lines.filter(line => line !== '').map(line => parseJson<TurnAttempt>(line))
}
