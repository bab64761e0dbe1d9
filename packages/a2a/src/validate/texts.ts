// Checks strings: identifiers, header values, base64, URLs, media types and timestamps.
import { parseUrl } from '@postern/message'
import { z } from 'zod'
import { must } from './checks.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const controlCharacterPattern = /[\u0000-\u001f\u007f]/

const base64Pattern = /^[A-Za-z0-9+/_-]*={0,2}$/

const equalsSign = 0x3d

const timestampPattern =
  /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

const mediaTypePattern = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}([ \t]*;[\x20-\x7e]*)?$/

/** Checks that a value is a string of any characters. */
export const anyText = z.string('must be a string')

/** Checks a bounded line. proto3 reads an empty one as absent. */
export function line(max: number) {
  return (
    z
      .string('must be a string')
      .refine(
        text => text.length <= max && !controlCharacterPattern.test(text),
        must(`be one line of at most ${max} characters`),
      )
      // A store would turn every lone surrogate into the same character.
      .refine(text => text.isWellFormed(), must('be well-formed Unicode'))
  )
}

/** Checks an identifier: a bounded line that is not empty. */
export function identifier(max: number) {
  return line(max).refine(text => text !== '', must('not be empty'))
}

const visibleAsciiPattern = /^[\x20-\x7e]*$/

/** Checks text that fits a header. proto3 reads an empty one as absent. */
export function headerText(max: number) {
  return matchingText(visibleAsciiPattern, 'visible ASCII', max)
}

function matchingText(pattern: RegExp, description: string, max: number) {
  const rule = must(`be ${description} of at most ${max} characters`)
  return z.string(rule).refine(text => text.length <= max && pattern.test(text), rule)
}

const tokenPattern = /^[\w!#$%&'*+.^`|~-]+$/

/** Checks a token of RFC 9110 §5.6.2. */
export function token(max: number) {
  return matchingText(tokenPattern, 'a token', max)
}

/** Checks base64. ProtoJSON reads the standard and the URL-safe alphabet, padded or not. */
export const bytes = z
  .string('must be a base64 string')
  .refine(text => base64Pattern.test(text) && countDigits(text) % 4 !== 1, must('be base64'))

/** Counts the digits without padding. It uses a loop, because `/=+$/` needs quadratic time for many signs before another character. */
function countDigits(value: string): number {
  let digitCount = value.length
  while (value.charCodeAt(digitCount - 1) === equalsSign) digitCount -= 1
  return digitCount
}

/** Checks the address of a file: https, without credentials. The gateway never fetches it. */
export const fileUrl = z
  .string('must be an absolute URL')
  .refine(text => parseUrl(text) !== undefined, must('be an absolute URL'))
  .refine(isPlainHttps, must('be an https URL without credentials'))

function isPlainHttps(text: string): boolean {
  const url = parseUrl(text)
  return url?.protocol === 'https:' && !url.username && !url.password
}

export const media = z
  .string('must be a media type')
  .refine(text => text === '' || mediaTypePattern.test(text), must('be a media type'))

/** Checks a timestamp of RFC 3339, as ProtoJSON writes it. */
export const time = z
  .string('must be an ISO 8601 timestamp')
  .refine(text => isDay(timestampPattern.exec(text)?.[1]), must('be an ISO 8601 timestamp'))

/** Returns true if a day exists. `Date` would read 30 February as 2 March. */
function isDay(text: string | undefined): boolean {
  if (text === undefined || text.startsWith('0000')) return false
  const day = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text)
}
