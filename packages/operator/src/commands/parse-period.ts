// Parses the times of `--since` and `--until` as an operator types them.
import { parseDuration } from '@postern/message'
import { CommandError } from '../client/client.ts'

interface PeriodOptions {
  readonly since?: unknown
  readonly until?: unknown
}

/** Converts the options `since` and `until` to ISO 8601 in UTC. @throws CommandError */
export function parsePeriod<Options extends PeriodOptions>(options: Options): Options & Period {
  return { ...options, since: parseTime(options.since), until: parseTime(options.until) }
}

interface Period {
  readonly since: string | undefined
  readonly until: string | undefined
}

/** Parses an age (`30m`, `12h`, `7d`) or an instant (ISO 8601). @throws CommandError */
function parseTime(text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined
  const instant = /^\d{1,6}[smhd]$/.test(text) ? Date.now() - parseDuration(text) : Date.parse(text)
  if (Number.isFinite(instant)) return new Date(instant).toISOString()
  throw new CommandError(`"${text}" is not a time: write 30m, 12h or 7d, or an instant such as 2026-01-31T12:00:00Z`)
}
