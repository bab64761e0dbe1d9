// Compares two JSON values, and lists each member that differs.
import type { Json } from '@postern/message'
import { parseJsonText } from '@postern/message'
import type { ReplayChange } from './report.ts'

/** The maximum number of changes to list. Further changes would add no information. */
const maxChanges = 100
/** The maximum length of a text, characters. Longer texts are cut. */
const maxTextChars = 2_000

/** Lists the members in which two values differ, at most 100. */
export function compareJson(oldValue: unknown, newValue: unknown): readonly ReplayChange[] {
  const changes: ReplayChange[] = []
  for (const change of listChanges(toJson(oldValue), toJson(newValue), '')) {
    if (changes.length === maxChanges) break
    changes.push(change)
  }
  return changes
}

function* listChanges(oldValue: Json | undefined, newValue: Json | undefined, path: string): Generator<ReplayChange> {
  if (oldValue === newValue) return
  if (isContainer(oldValue) && isContainer(newValue) && Array.isArray(oldValue) === Array.isArray(newValue)) {
    const names = new Set([...Object.keys(oldValue), ...Object.keys(newValue)])
    for (const name of names) yield* listChanges(oldValue[name], newValue[name], path === '' ? name : `${path}.${name}`)
    return
  }
  yield {
    path,
    ...(oldValue !== undefined && { before: clip(oldValue) }),
    ...(newValue !== undefined && { after: clip(newValue) }),
  }
}

function isContainer(value: Json | undefined): value is { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null
}

function clip(value: Json): Json {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.length <= maxTextChars) return value
  return `${text.slice(0, maxTextChars).toWellFormed()}… (${text.length} characters)`
}

/** Returns a value as JSON stores it, without undefined members. */
function toJson(value: unknown): Json | undefined {
  return value === undefined ? undefined : (parseJsonText(JSON.stringify(value)) as Json)
}
