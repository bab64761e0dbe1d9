// Reads a time as an operator types it for `--since` and `--until`.
import { parseDuration } from '@postern/message'
import { CommandError } from '../client/client.ts'

/** Reads a time ago (`30m`, `12h`, `7d`) or an instant (ISO 8601) as ISO 8601 UTC. @throws CommandError */
export function parseTimeOption(text: string | undefined, now = Date.now()): string | undefined {
  if (text === undefined) return undefined
  const instant = /^\d{1,6}[smhd]$/.test(text) ? now - parseDuration(text) : Date.parse(text)
  if (Number.isFinite(instant)) return new Date(instant).toISOString()
  throw new CommandError(`"${text}" is not a time: write 30m, 12h or 7d, or an instant such as 2026-01-31T12:00:00Z`)
}
