import type { Log, LogFields } from '@postern/core'

interface LogLine {
  readonly level: keyof Log
  readonly fields: LogFields
  readonly text: string
}

/** A log that can be read. */
export function createTestLog(): { readonly log: Log; readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = []
  const keep = (level: keyof Log) => (fields: LogFields, text: string) => void lines.push({ level, fields, text })
  return { log: { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') }, lines }
}
