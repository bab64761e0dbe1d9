import type { Log, LogFields } from './platform.ts'

/** A log whose every line carries `bound`. */
export function bindLog(log: Log, bound: LogFields): Log {
  return {
    debug: (fields, text) => log.debug({ ...bound, ...fields }, text),
    info: (fields, text) => log.info({ ...bound, ...fields }, text),
    warn: (fields, text) => log.warn({ ...bound, ...fields }, text),
    error: (fields, text) => log.error({ ...bound, ...fields }, text),
  }
}
