// Declares a reason with its evidence and fix, and formats times, counts and quotes for it.
import { isoTime } from '@postern/message'

/** One observation, with its time if it has one (ms since 1970 UTC). */
export interface Evidence {
  readonly at?: number | undefined
  readonly fact: string
}

/** The fix for a reason. */
export interface Fix {
  /** One or two sentences. They name the setting that decides, if there is one. */
  readonly text: string
  /** A command to copy. */
  readonly command?: string | undefined
}

/** A text of a table: fixed, or computed from its subject. */
type FixText<Subject> = string | ((subject: Subject) => string | undefined)

/** A fix as tables of cases contain it. */
export interface FixTexts<Subject> {
  readonly fix: FixText<Subject>
  readonly command?: FixText<Subject> | undefined
}

export function writeFix<Subject>({ fix, command }: FixTexts<Subject>, subject: Subject): Fix {
  const format = (text: FixText<Subject> | undefined) => (typeof text === 'function' ? text(subject) : text)
  return { text: format(fix) ?? '', command: format(command) }
}

/** The reason why a sender got no answer, or that they got one. */
export interface Reason {
  /** The identifier of the reason for programs, such as `webhook_down`. It stays the same across releases. */
  readonly code: string
  /** One sentence that names the event, its cause and its time. Lists show only this sentence. */
  readonly sentence: string
  /** The start of this state, ms since 1970 UTC. */
  readonly since: number
  readonly evidence?: readonly Evidence[] | undefined
  /** The fix; absent if there is nothing to fix. */
  readonly fix?: Fix | undefined
}

/** A pure function that returns the reason, or undefined if it does not apply. */
export type Rule<Facts> = (facts: Facts) => Reason | undefined

/** Returns the reason of the first rule that applies. */
export function findReason<Facts>(rules: readonly Rule<Facts>[], facts: Facts): Reason | undefined {
  for (const rule of rules) {
    const reason = rule(facts)
    if (reason) return reason
  }
  return undefined
}

/** The maximum length of a quote in a sentence, UTF-16 code units. */
const maxQuotedChars = 300

/** Formats an instant in UTC, with the day unless it is today. */
export function formatUtcTime(instant: number, now: number): string {
  const [iso, today] = [isoTime(instant), isoTime(now).slice(0, 10)]
  const day = iso.startsWith(today) ? '' : `${iso.slice(0, 10)} `
  return `${day}${iso.slice(11, 19)} UTC`
}

const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

/** Formats a duration in whole units, such as `2 minutes`. */
export function formatSpan(ms: number): string {
  const [name, length] = units.find(([, length]) => ms >= length) ?? units[3]
  return formatQuantity(Math.max(1, Math.floor(ms / length)), name)
}

export function formatQuantity(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`
}

interface ErrorPosition {
  readonly file?: string | undefined
  readonly line?: number | undefined
}

/** Formats the position of an error, such as ` at agents/desk.ts:3`. Returns an empty text if the file is unknown. */
export function formatErrorPosition({ file, line }: ErrorPosition = {}): string {
  if (file === undefined) return ''
  return ` at ${file}${line === undefined ? '' : `:${line}`}`
}

/** Quotes a foreign text on one line, without its full stop and without secrets in its URLs. */
export function quoteLine(text: string): string {
  const line = text
    .slice(0, 4 * maxQuotedChars)
    .trim()
    .replace(/\s+/g, ' ')
    .replace(/\bhttps?:\/\/[^\s"'<>()]+/g, withoutSecrets)
  const shortened = line.length > maxQuotedChars ? `${line.slice(0, maxQuotedChars).toWellFormed()}…` : line
  return shortened.endsWith('.') ? shortened.slice(0, -1) : shortened
}

/** Returns a URL without user, password, query and fragment. */
export function withoutSecrets(url: string): string {
  const parsedUrl = URL.parse(url)
  return parsedUrl ? `${parsedUrl.origin}${parsedUrl.pathname}` : 'an address'
}

/** Returns the cause in an error of the gateway: `Cannot fetch: connection refused` → `connection refused`. */
export function causeOf(error: string): string {
  return (
    quoteLine(error.replace(/^(?:given up after \d+ tries: )?(?:Cannot [a-z_ ]{1,40}: )?/i, '')) || 'no cause is known'
  )
}
