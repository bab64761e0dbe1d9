// Joins repeated log lines of one cause into one line with a count, and writes expected errors without their stacks.
import type { Log, LogFields } from '@postern/message'
import { ConfigError, Rejection, Unavailable, Undeliverable } from '@postern/message'
import { stdSerializers } from 'pino'

/** The interval at which the log reports repetitions of a cause, ms. */
const reportIntervalMs = 60_000

/** The largest number of remembered causes. Beyond this number, the log reports the oldest cause and forgets it. */
const maxCauses = 500

type Level = keyof Log

interface RepeatedCause {
  readonly write: (fields: LogFields) => void
  readonly timer: NodeJS.Timeout
  /** The fields of the last line, without its stacks. */
  fields: LogFields
  count: number
}

/**
 * Writes a line with an error or a reason at once, and its repetitions within a minute as one line with `repeated`. Passes other lines on unchanged.
 */
export function joinRepeatedLines(log: Log, { everyMs = reportIntervalMs }: { readonly everyMs?: number } = {}): Log {
  const causes = new Map<string, RepeatedCause>()

  function reportCause(causeKey: string, { write: writeLine, timer, fields, count }: RepeatedCause): void {
    clearTimeout(timer)
    causes.delete(causeKey)
    if (count > 0) writeLine({ ...fields, repeated: count })
  }

  function write(level: Level, fields: LogFields, text: string): void {
    const causeKey = formatCauseKey(level, fields, text)
    const currentCause = causeKey === undefined ? undefined : causes.get(causeKey)
    if (currentCause) {
      currentCause.count += 1
      currentCause.fields = replaceStacks(fields)
      return
    }
    log[level](fields, text)
    if (causeKey === undefined) return
    const repeatedCause: RepeatedCause = {
      write: lastFields => log[level](lastFields, text),
      timer: setTimeout(() => reportCause(causeKey, repeatedCause), everyMs).unref(),
      fields: {},
      count: 0,
    }
    causes.set(causeKey, repeatedCause)
    const [oldestEntry] = causes
    if (causes.size > maxCauses && oldestEntry) reportCause(...oldestEntry)
  }

  return {
    debug: (fields, text) => write('debug', fields, text),
    info: (fields, text) => write('info', fields, text),
    warn: (fields, text) => write('warn', fields, text),
    error: (fields, text) => write('error', fields, text),
  }
}

/** Formats the key of a line's cause: its sentence with the error or reason. Returns undefined for a line that has neither of them. */
function formatCauseKey(level: Level, { err, via, code, reason, host }: LogFields, text: string): string | undefined {
  if (err === undefined && reason === undefined) return undefined
  return JSON.stringify([level, text, via, code, reason, host, listMessages(err)])
}

/** Returns the messages of an error and of its causes. */
function listMessages(error: unknown): readonly string[] {
  const messages: string[] = []
  for (let current = error; current instanceof Error && messages.length < 5; current = current.cause)
    messages.push(current.message)
  return messages.length > 0 || error === undefined ? messages : [String(error)]
}

function replaceStacks({ err, ...fields }: LogFields): LogFields {
  const messages = listMessages(err)
  return messages.length > 0 ? { ...fields, cause: messages.join(': ') } : fields
}

const expectedErrors = [Rejection, Unavailable, Undeliverable, ConfigError]

/** Returns an error in the form that the log writes. Expected errors need no stack, because their messages say everything. */
export function serializeLoggedError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  if (!expectedErrors.some(kind => error instanceof kind)) return stdSerializers.err(error)
  return { type: error.name, message: listMessages(error).join(': ') }
}
