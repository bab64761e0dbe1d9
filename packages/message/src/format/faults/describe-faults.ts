// Describes why a value does not fit its schema: the member, its value and the rule.
import type { z } from 'zod'
import { InvalidAnswer } from '../errors.ts'

/** The maximum number of faults that one sentence names. */
const maxFaults = 3
/** The maximum number of characters of a value that a sentence quotes. */
const maxQuotedChars = 40

/** Parses a value that an agent gave. @throws `Fault`, which names the wrong members with their values and rules */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  label: string,
  Fault: new (message: string) => Error = Error,
): z.output<Schema> {
  const parseResult = schema.safeParse(value)
  if (parseResult.success) return parseResult.data
  throw new Fault(`Cannot read ${label}: ${describeFaults(parseResult.error, value)}`)
}

/** Parses the answer of an agent, or a piece of it. @throws InvalidAnswer */
export function parseAgentAnswer<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  label = 'the answer',
): z.output<Schema> {
  return parseInput(schema, value, label, InvalidAnswer)
}

/** Describes the first faults of a value: `"parts.0.bytes_ref.data_base64" ("$$$") must be base64`. */
export function describeFaults(error: z.ZodError, value: unknown): string {
  return error.issues
    .slice(0, maxFaults)
    .flatMap(findInFirstForm)
    .slice(0, maxFaults)
    .map(issue => describeFault(issue, value))
    .join('; ')
}

type Issue = z.core.$ZodIssue

/** Returns the faults of a value that fits none of several forms. They are the faults by the first form, which is the intended one. */
function findInFirstForm(issue: Issue): readonly Issue[] {
  const [firstFormIssues] = issue.code === 'invalid_union' ? issue.errors : []
  if (!firstFormIssues) return [issue]
  return firstFormIssues
    .flatMap(findInFirstForm)
    .map(innerIssue => ({ ...innerIssue, path: [...issue.path, ...innerIssue.path] }))
}

function describeFault(issue: Issue, value: unknown): string {
  const { path } = issue
  const name = path.length === 0 ? 'it' : `"${path.join('.')}"`
  const rule = describeRule(issue)
  if (issue.code === 'unrecognized_keys') return path.length === 0 ? rule : `${name}: ${rule}`
  const memberValue = path.reduce<unknown>(
    (parent, key) => (parent as Record<PropertyKey, unknown> | undefined)?.[key],
    value,
  )
  const isValueOmitted = memberValue === undefined || (typeof memberValue === 'object' && !rule.startsWith('must '))
  return isValueOmitted ? `${name} ${rule}` : `${name} (${quoteValue(memberValue)}) ${rule}`
}

function quoteValue(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (value instanceof Uint8Array) return 'bytes'
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value !== 'string') return typeof value === 'function' ? 'a function' : String(value)
  const quotedText = JSON.stringify(value.slice(0, maxQuotedChars).toWellFormed())
  return value.length > maxQuotedChars ? `${quotedText.slice(0, -1)}…" (${value.length} characters)` : quotedText
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

/** The rules of formats for which our schemas have no words of their own. */
const formatRules: Readonly<Record<string, string>> = {
  base64: 'must be base64',
  url: 'must be an address (URL)',
  datetime: 'must be an instant (ISO 8601)',
}

/** Returns the rule that a member breaks: `must be …`, `is missing`, or the words of the schema. `memberNames` lists the existing members. */
export function describeRule(issue: Issue, memberNames: readonly string[] = []): string {
  switch (issue.code) {
    case 'invalid_type':
      return describeType(issue)
    case 'too_small':
      return describeBound(issue.origin, 'at least', issue.minimum)
    case 'too_big':
      return describeBound(issue.origin, 'at most', issue.maximum)
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`
    case 'invalid_union':
      return describeUnion(issue)
    case 'invalid_format':
      return describeFormat(issue)
    case 'unrecognized_keys':
      return describeUnknown(issue, memberNames)
    default:
      // Custom rules of our schemas have their own message.
      return issue.message
  }
}

function describeType({ input, message, expected }: z.core.$ZodIssueInvalidType): string {
  const isMissing = input === undefined && message.endsWith('undefined')
  return isMissing ? 'is missing' : `must be ${typeNames[expected] ?? expected}`
}

function describeFormat({ message, format, pattern }: z.core.$ZodIssueInvalidStringFormat): string {
  if (!message.startsWith('Invalid ')) return message
  return formatRules[format] ?? (pattern === undefined ? message : `must match ${pattern}`)
}

/** Describes a union. Zod names the values that select an alternative only in its message. */
function describeUnion({ discriminator, message }: z.core.$ZodIssueInvalidUnion): string {
  const [, alternatives] = message.split('Expected ')
  if (discriminator === undefined || alternatives === undefined) return 'has none of the forms that there are'
  return `must be one of ${alternatives.replaceAll("'", '').replaceAll(' | ', ', ')}`
}

function describeUnknown({ keys, path }: z.core.$ZodIssueUnrecognizedKeys, memberNames: readonly string[]): string {
  const names = keys.slice(0, 5).map(key => `"${key.slice(0, 100)}"`)
  const fix = path.length === 0 && memberNames.length > 0 ? `use ${memberNames.join(', ')}` : 'leave it out'
  return `there is no member ${names.join(', ')}; ${fix}`
}

function describeBound(origin: string, comparison: string, bound: number | bigint): string {
  if (origin === 'string') return `must have ${comparison} ${countOf(bound, 'character', 'characters')}`
  if (origin === 'array') return `must have ${comparison} ${countOf(bound, 'entry', 'entries')}`
  return `must be ${comparison} ${bound}`
}

function countOf(count: number | bigint, one: string, many: string): string {
  return `${count} ${Number(count) === 1 ? one : many}`
}
