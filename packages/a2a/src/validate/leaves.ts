import { isJsonObject, parseUrl } from '@postern/core'
import type { ValueCheck } from './shape.ts'
import { violate } from './shape.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const control = /[\u0000-\u001f\u007f]/
const base64 = /^[A-Za-z0-9+/_-]*={0,2}$/
const equalsSign = 0x3d
const timestamp = /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/
const mediaType = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}([ \t]*;[\x20-\x7e]*)?$/
const maxInt32 = 2 ** 31 - 1

/** Text of any characters. */
export const anyText: ValueCheck = value => (typeof value === 'string' ? undefined : violate('must be a string'))

/** An identifier: one line, not empty, bounded. */
export function identifier(max: number): ValueCheck {
  return value => {
    if (typeof value !== 'string') return violate('must be a string')
    if (value === '') return violate('must not be empty')
    if (value.length > max || control.test(value)) return violate(`must be one line of at most ${max} characters`)
    // A store would turn every lone surrogate into the same character.
    return value.isWellFormed() ? undefined : violate('must be well-formed Unicode')
  }
}

/** A string that proto3 reads as absent if it is empty. */
export function line(max: number): ValueCheck {
  const check = identifier(max)
  return value => (value === '' ? undefined : check(value))
}

const visible = /^[\x20-\x7e]*$/

/** Text that fits a header; proto3 reads an empty one as absent. */
export function headerText(max: number): ValueCheck {
  return value =>
    typeof value === 'string' && value.length <= max && visible.test(value)
      ? undefined
      : violate(`must be visible ASCII of at most ${max} characters`)
}

const tokenPattern = /^[\w!#$%&'*+.^`|~-]+$/

/** A token of RFC 9110 §5.6.2. */
export function token(max: number): ValueCheck {
  return value =>
    typeof value === 'string' && value.length <= max && tokenPattern.test(value)
      ? undefined
      : violate(`must be a token of at most ${max} characters`)
}

export function oneOf(values: readonly string[]): ValueCheck {
  const known = new Set<unknown>(values)
  return value => (known.has(value) ? undefined : violate(`must be one of ${values.join(', ')}`))
}

export function integer({
  min = 0,
  max = maxInt32,
}: {
  readonly min?: number
  readonly max?: number
} = {}): ValueCheck {
  return value =>
    Number.isInteger(value) && (value as number) >= min && (value as number) <= max
      ? undefined
      : violate(`must be an integer from ${min} to ${max}`)
}

export const boolean: ValueCheck = value => (typeof value === 'boolean' ? undefined : violate('must be true or false'))

export const object: ValueCheck = value => (isJsonObject(value) ? undefined : violate('must be an object'))

/** ProtoJSON reads the standard and the URL-safe alphabet, padded or not. */
export const bytes: ValueCheck = value => {
  if (typeof value !== 'string') return violate('must be a base64 string')
  return base64.test(value) && countDigits(value) % 4 !== 1 ? undefined : violate('must be base64')
}

/** Without padding. A loop, because `/=+$/` takes quadratic time for many signs before another character. */
function countDigits(value: string): number {
  let end = value.length
  while (value.charCodeAt(end - 1) === equalsSign) end -= 1
  return end
}

/** The address of a file: https, without credentials. The gateway never fetches it. */
export const fileUrl: ValueCheck = value => {
  const url = typeof value === 'string' ? parseUrl(value) : undefined
  if (!url) return violate('must be an absolute URL')
  return url.protocol === 'https:' && !url.username && !url.password
    ? undefined
    : violate('must be an https URL without credentials')
}

export const media: ValueCheck = value =>
  value === '' || (typeof value === 'string' && mediaType.test(value)) ? undefined : violate('must be a media type')

/** RFC 3339, as ProtoJSON writes timestamps. */
export const time: ValueCheck = value => {
  const [, day] = (typeof value === 'string' && timestamp.exec(value)) || []
  return day !== undefined && isDay(day) ? undefined : violate('must be an ISO 8601 timestamp')
}

/** `Date` would read 30 February as 2 March. */
function isDay(text: string): boolean {
  const at = new Date(`${text}T00:00:00Z`)
  return !text.startsWith('0000') && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)
}

/** A member with the zero value of its type counts as absent, as in proto3. */
export function zeroOr(zeros: readonly unknown[], check: ValueCheck): ValueCheck {
  return value => (zeros.includes(value) ? undefined : check(value))
}
