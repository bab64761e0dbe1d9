// Keeps the attempts of a turn in one column.
import type { TurnAttempt } from '@postern/message'
import { formatJson, parseJson } from '../../sql/json-columns.ts'

/** The size of stored attempts above which the next attempt replaces them. The newest attempts show why the turn does not end. */
const attemptsResetBytes = 12 * 1024

/** Formats the column `trace` with one more attempt as SQL. `parameter` is the numbered parameter with the result of `formatAttempt`. */
export function appendAttemptSql(parameter: string): string {
  return `CASE WHEN octet_length(coalesce(trace, '')) > ${attemptsResetBytes} THEN '' ELSE coalesce(trace, '') END || ${parameter}`
}

/** Formats an attempt as one line of JSON, which is empty without an attempt. */
export function formatAttempt(attempt: TurnAttempt | undefined): string {
  return attempt === undefined ? '' : `${formatJson(attempt)}\n`
}

export function readAttempts(trace: string | null): readonly TurnAttempt[] {
  const lines = trace?.split('\n') ?? []
  return lines.filter(line => line !== '').map(line => parseJson<TurnAttempt>(line))
}
