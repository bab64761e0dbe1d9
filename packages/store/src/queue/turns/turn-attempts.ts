// Keeps the attempts of a turn in one column.
import type { TurnAttempt } from '@postern/message'
import { formatJson, parseJson } from '../../sql/json-columns.ts'

/** The most bytes of a turn's attempts. The next attempt then replaces all of them, because the newest ones show why the turn does not end. */
const fullBytes = 12 * 1024

/** Formats the column `trace` with one more attempt as SQL. `added` is the numbered parameter with the result of `formatAttempt`. */
export function appendAttempt(added: string): string {
  return `CASE WHEN octet_length(coalesce(trace, '')) > ${fullBytes} THEN '' ELSE coalesce(trace, '') END || ${added}`
}

/** Formats an attempt as one line of JSON, which is empty without an attempt. */
export function formatAttempt(attempt: TurnAttempt | undefined): string {
  return attempt === undefined ? '' : `${formatJson(attempt)}\n`
}

export function readAttempts(trace: string | null): readonly TurnAttempt[] {
  const lines = trace?.split('\n') ?? []
  return lines.filter(line => line !== '').map(line => parseJson<TurnAttempt>(line))
}
