import { isoTime } from '@postern/core'

/** Something that was observed, with its time where it has one (ms since 1970 UTC). */
export interface Evidence {
  readonly at?: number | undefined
  readonly fact: string
}

/** What somebody may do about it. */
export interface Fix {
  /** One sentence or two. It names the setting, where one decides. */
  readonly text: string
  /** A command to copy. */
  readonly command?: string | undefined
}

/** Words of a table: the same for everything, or made of what they are about. */
type Words<About> = string | ((about: About) => string | undefined)

/** A fix as a table has it. */
export interface FixWords<About> {
  readonly fix: Words<About>
  readonly command?: Words<About> | undefined
}

export function writeFix<About>({ fix, command }: FixWords<About>, about: About): Fix {
  const say = (words: Words<About> | undefined) => (typeof words === 'function' ? words(about) : words)
  return { text: say(fix) ?? '', command: say(command) }
}

/** Why somebody got no answer, or that they got one. */
export interface Reason {
  /** Stable, for programs: `webhook_down`. */
  readonly code: string
  /** What happened, why and since when, in one sentence of one line. It stands alone in lists. */
  readonly sentence: string
  /** Since when it is so, ms since 1970 UTC. */
  readonly since: number
  readonly evidence?: readonly Evidence[] | undefined
  /** Absent when there is nothing to fix. */
  readonly fix?: Fix | undefined
}

/** Pure. Undefined: this is not the reason. */
export type Rule<Facts> = (facts: Facts) => Reason | undefined

/** The reason of the first rule that has one. */
export function firstReason<Facts>(rules: readonly Rule<Facts>[], facts: Facts): Reason | undefined {
  for (const rule of rules) {
    const reason = rule(facts)
    if (reason) return reason
  }
  return undefined
}

/** Longest piece of foreign text in a sentence, UTF-16 code units. */
const maxQuoted = 300

/** An instant as a sentence has it, in UTC; the day only when it is another one than today. */
export function sayTime(at: number, now: number): string {
  const [iso, today] = [isoTime(at), isoTime(now).slice(0, 10)]
  const day = iso.startsWith(today) ? '' : `${iso.slice(0, 10)} `
  return `${day}${iso.slice(11, 19)} UTC`
}

const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

/** A length of time, in whole units: `2 minutes`. */
export function saySpan(ms: number): string {
  const [name, length] = units.find(([, length]) => ms >= length) ?? units[3]
  return sayCount(Math.max(1, Math.floor(ms / length)), name)
}

export function sayCount(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

/** What others have written, on one line, without the full stop at its end and without what addresses may hold of secrets. */
export function quoteLine(text: string): string {
  const line = text
    .slice(0, 4 * maxQuoted)
    .trim()
    .replace(/\s+/g, ' ')
    .replace(/\bhttps?:\/\/[^\s"'<>()]+/g, withoutSecrets)
  const cut = line.length > maxQuoted ? `${line.slice(0, maxQuoted).toWellFormed()}…` : line
  return cut.endsWith('.') ? cut.slice(0, -1) : cut
}

/** An address without name, password, query and fragment. */
export function withoutSecrets(url: string): string {
  const parsed = URL.parse(url)
  return parsed ? `${parsed.origin}${parsed.pathname}` : 'an address'
}

/** The cause in one of our errors: `Cannot fetch: connection refused` → `connection refused`. */
export function causeOf(error: string): string {
  return (
    quoteLine(error.replace(/^(?:given up after \d+ tries: )?(?:Cannot [a-z_ ]{1,40}: )?/i, '')) || 'no cause is known'
  )
}
