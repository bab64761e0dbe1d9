// Declares the log.

export type LogFields = Readonly<Record<string, unknown>>

export interface Log {
  debug(fields: LogFields, text: string): void
  info(fields: LogFields, text: string): void
  warn(fields: LogFields, text: string): void
  error(fields: LogFields, text: string): void
}

/** Returns a log that adds the fields `bound` to every line. */
export function bindLog(log: Log, bound: LogFields): Log {
  return {
    debug: (fields, text) => log.debug({ ...bound, ...fields }, text),
    info: (fields, text) => log.info({ ...bound, ...fields }, text),
    warn: (fields, text) => log.warn({ ...bound, ...fields }, text),
    error: (fields, text) => log.error({ ...bound, ...fields }, text),
  }
}
