const plainTime = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2})(\.\d+)?(Z|[+-]\d{2}:?\d{2})?$/

/** A time as text, ISO 8601 or `YYYY-MM-DD HH:MM:SS`; one without a zone is UTC. `undefined` for anything else. */
export function parseEntryTime(text: string): string | undefined {
  const match = plainTime.exec(text)
  if (!match) return undefined
  const [, day, time, fraction = '', zone = 'Z'] = match
  return isoOfMs(Date.parse(`${day}T${time}${fraction.slice(0, 4)}${zone}`))
}

/** Milliseconds since the epoch as ISO 8601 UTC; `undefined` where no calendar has that time. */
export function isoOfMs(ms: number): string | undefined {
  const date = new Date(ms)
  if (Number.isNaN(date.getTime()) || date.getUTCFullYear() < 0 || date.getUTCFullYear() > 9999) return undefined
  return date.toISOString()
}

/** `YYYY-MM-DD HH:MM:SS`, UTC. */
export function formatPlainTime(iso: string): string {
  return iso.slice(0, 19).replace('T', ' ')
}
