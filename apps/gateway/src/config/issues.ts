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
  return error.issues.flatMap(issue => {
    const path = issue.path.map(String).join('.')
    const fix = fixes[issue.code]?.(issue) ?? 'Correct it; docs/reference/configuration.md lists every key.'
    if (issue.code !== 'unrecognized_keys')
      return [new ConfigError(path || 'configuration', lowerFirst(issue.message), fix)]
    return issue.keys.map(key => new ConfigError(path ? `${path}.${key}` : key, 'is not a known key', fix))
  })
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
