// Joins repetitions of one cause into one log line with a count, and writes causes of expected errors without their stacks.
import type { Log, LogFields } from '@postern/message'
import { ConfigError, Rejection, Unavailable, Undeliverable } from '@postern/message'
import { stdSerializers } from 'pino'

/** The interval at which the log reports repetitions of a cause, ms. */
const reportIntervalMs = 60_000

/** The largest number of remembered causes. Beyond it, the log reports the oldest one and forgets it. */
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
export function joinRepeated(log: Log, { everyMs = reportIntervalMs }: { readonly everyMs?: number } = {}): Log {
  const causes = new Map<string, RepeatedCause>()

  function close(name: string, { write: writeLine, timer, fields, count }: RepeatedCause): void {
    clearTimeout(timer)
    causes.delete(name)
    if (count > 0) writeLine({ ...fields, repeated: count })
  }

  function write(level: Level, fields: LogFields, text: string): void {
    const name = nameCause(level, fields, text)
    const openCause = name === undefined ? undefined : causes.get(name)
    if (openCause) {
      openCause.count += 1
      openCause.fields = withoutStacks(fields)
      return
    }
    log[level](fields, text)
    if (name === undefined) return
    const repeatedCause: RepeatedCause = {
      write: lastFields => log[level](lastFields, text),
      timer: setTimeout(() => close(name, repeatedCause), everyMs).unref(),
      fields: {},
      count: 0,
    }
    causes.set(name, repeatedCause)
    const [oldest] = causes
    if (causes.size > maxCauses && oldest) close(...oldest)
  }

  return {
    debug: (fields, text) => write('debug', fields, text),
    info: (fields, text) => write('info', fields, text),
    warn: (fields, text) => write('warn', fields, text),
    error: (fields, text) => write('error', fields, text),
  }
}

/** Returns the same text for two lines of one cause: their sentence with the error or reason. Returns undefined for a line that has neither. */
function nameCause(level: Level, { err, via, code, reason, host }: LogFields, text: string): string | undefined {
  if (err === undefined && reason === undefined) return undefined
  return JSON.stringify([level, text, via, code, reason, host, describeChain(err)])
}

/** Returns the messages of an error and of its causes. */
function describeChain(error: unknown): readonly string[] {
  const messages: string[] = []
  for (let current = error; current instanceof Error && messages.length < 5; current = current.cause)
    messages.push(current.message)
  return messages.length > 0 || error === undefined ? messages : [String(error)]
}

function withoutStacks({ err, ...fields }: LogFields): LogFields {
  const messages = describeChain(err)
  return messages.length > 0 ? { ...fields, cause: messages.join(': ') } : fields
}

const expectedErrors = [Rejection, Unavailable, Undeliverable, ConfigError]

/** Returns an error in the form that the log writes. Expected errors need no stack, because their sentences say everything. */
export function describeLogged(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  if (!expectedErrors.some(kind => error instanceof kind)) return stdSerializers.err(error)
  return { type: error.name, message: describeChain(error).join(': ') }
}
