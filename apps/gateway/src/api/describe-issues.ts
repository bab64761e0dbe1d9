import type { FieldViolation } from '@postern/core'
import type { z } from 'zod'

interface DescribedIssue extends FieldViolation {
  /** Field and description in one. */
  readonly sentence: string
}

type Issue = z.core.$ZodIssue

/** More of them help nobody. */
const mostDescribed = 10

/** What is wrong with each member, in words that say what would be right. `known`: the members that there are. */
export function describeIssues(error: z.ZodError, known: readonly string[] = []): readonly DescribedIssue[] {
  return error.issues.slice(0, mostDescribed).map(issue => {
    const field = issue.path.join('.')
    const description = describeIssue(issue, known)
    const isUnknown = issue.code === 'unrecognized_keys'
    return {
      field,
      description,
      sentence: isUnknown ? description : `${field === '' ? 'the body' : `"${field}"`} ${description}`,
    }
  })
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

function describeIssue(issue: Issue, known: readonly string[]): string {
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
    case 'unrecognized_keys':
      return describeUnknown(issue, known)
    default:
      // A schema of ours says it itself.
      return issue.message
  }
}

function describeType({ input, message, expected }: z.core.$ZodIssueInvalidType): string {
  const isMissing = input === undefined && message.endsWith('undefined')
  return isMissing ? 'is missing' : `must be ${typeNames[expected] ?? expected}`
}

/** zod names the words that decide between the alternatives in its message alone. */
function describeUnion({ discriminator, message }: z.core.$ZodIssueInvalidUnion): string {
  const [, words] = message.split('Expected ')
  if (discriminator === undefined || words === undefined) return 'has none of the forms that there are'
  return `must be one of ${words.replaceAll("'", '').replaceAll(' | ', ', ')}`
}

function describeUnknown({ keys, path }: z.core.$ZodIssueUnrecognizedKeys, known: readonly string[]): string {
  const names = keys.slice(0, 5).map(key => `"${key.slice(0, 100)}"`)
  const fix = path.length === 0 && known.length > 0 ? `use ${known.join(', ')}` : 'leave it out'
  return `there is no member ${names.join(', ')}; ${fix}`
}

function describeBound(origin: string, words: string, bound: number | bigint): string {
  if (origin === 'string') return `must have ${words} ${countOf(bound, 'character', 'characters')}`
  if (origin === 'array') return `must have ${words} ${countOf(bound, 'entry', 'entries')}`
  return `must be ${words} ${bound}`
}

function countOf(count: number | bigint, one: string, many: string): string {
  return `${count} ${Number(count) === 1 ? one : many}`
}
