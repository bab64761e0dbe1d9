import { CommandError } from './client.ts'

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** A time ago (`30m`, `12h`, `7d`) or an instant (ISO 8601) as ISO 8601 UTC. @throws CommandError */
export function readWhen(text: string | undefined, now = Date.now()): string | undefined {
  if (text === undefined) return undefined
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const at = count === undefined ? Date.parse(text) : now - Number(count) * unitMs[unit as keyof typeof unitMs]
  if (Number.isFinite(at)) return new Date(at).toISOString()
  throw new CommandError(`"${text}" is no time: write 30m, 12h or 7d, or an instant such as 2026-01-31T12:00:00Z`)
}
