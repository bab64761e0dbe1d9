import type { TurnAttempt } from '@postern/core'
import { formatJson, parseJson } from '../engine/database.ts'

/** Bytes of a turn's attempts from which on the next one takes the place of all that are there: the newest tell why it does not come to its end. */
const fullBytes = 12 * 1024

/** The column `trace` of a turn with one more attempt, as SQL. `added`: of `formatAttempt`, a numbered parameter. */
export function appendAttempt(added: string): string {
  return `CASE WHEN octet_length(coalesce(trace, '')) > ${fullBytes} THEN '' ELSE coalesce(trace, '') END || ${added}`
}

/** One line of JSON; empty for none. */
export function formatAttempt(attempt: TurnAttempt | undefined): string {
  return attempt === undefined ? '' : `${formatJson(attempt)}\n`
}

export function readAttempts(trace: string | null): readonly TurnAttempt[] {
  const lines = trace?.split('\n') ?? []
  return lines.filter(line => line !== '').map(line => parseJson<TurnAttempt>(line))
}
