import { ConfigError } from '@postern/core'
import type { z } from 'zod'

type Issue = z.core.$ZodIssue

/** What to do about each kind of fault; the schema's own sentence where it has one. */
const fixes: Partial<Record<Issue['code'], (issue: Issue) => string>> = {
  unrecognized_keys: () => 'Remove it, or correct its spelling.',
  invalid_type: issue =>
    'expected' in issue ? `Give a value of type ${String(issue.expected)}.` : 'Give a value of the right type.',
  invalid_value: issue =>
    'values' in issue
      ? `Use one of ${issue.values.map(value => JSON.stringify(value)).join(', ')}.`
      : 'Use a known value.',
  too_small: () => 'Make it larger or longer.',
  too_big: () => 'Make it smaller or shorter.',
}

/** Turns what zod found into errors that name the key and the fix. */
export function toConfigErrors(error: z.ZodError): readonly ConfigError[] {
  return error.issues.flatMap(findNearest).flatMap(issue => {
    const path = issue.path.map(String).join('.')
    const fix = fixes[issue.code]?.(issue) ?? 'Correct it; docs/reference/configuration.md lists every key.'
    if (issue.code !== 'unrecognized_keys') return [new ConfigError(path || 'configuration', describe(issue), fix)]
    return issue.keys.map(key => new ConfigError(path ? `${path}.${key}` : key, 'is not a known key', fix))
  })
}

/** What keeps a value from the one form that it nearly has; else that it has none of them. */
function findNearest(issue: Issue): readonly Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const forms = issue.errors
    .map(faults => faults.flatMap(findNearest))
    .map(faults => ({ faults, count: faults.reduce((sum, fault) => sum + countFaults(fault), 0) }))
    .toSorted((a, b) => a.count - b.count)
  const [nearest, next] = forms
  if (!nearest || nearest.count === next?.count) return [issue]
  return nearest.faults.map(fault => ({ ...fault, path: [...issue.path, ...fault.path] }))
}

function countFaults(issue: Issue): number {
  return issue.code === 'unrecognized_keys' ? issue.keys.length : 1
}

function describe({ code, message }: Issue): string {
  if (code === 'invalid_type' && message.endsWith('received undefined')) return 'is missing'
  if (code === 'invalid_union' && message === 'Invalid input') return 'has none of the forms that it may have'
  return message.charAt(0).toLowerCase() + message.slice(1)
}
