// Compares two JSON values, and lists each member that differs.
import type { Json } from '@postern/message'
import { parseJsonText } from '@postern/message'
import type { ReplayChange } from './report.ts'

/** The maximum number of changes to list. Further ones would add no information. */
const maxChanges = 100
/** The maximum length of a text, characters. Longer texts are cut. */
const maxTextChars = 2_000

/** Lists the members in which `after` differs from `before`, each once. */
export function compareJson(before: unknown, after: unknown): readonly ReplayChange[] {
  const changes: ReplayChange[] = []
  collect(toJson(before), toJson(after), '', changes)
  return changes
}

function collect(before: Json | undefined, after: Json | undefined, path: string, changes: ReplayChange[]): void {
  if (changes.length >= maxChanges || before === after) return
  if (isTree(before) && isTree(after) && Array.isArray(before) === Array.isArray(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)])
    for (const name of names) collect(before[name], after[name], path === '' ? name : `${path}.${name}`, changes)
    return
  }
  changes.push({
    path,
    ...(before !== undefined && { before: clip(before) }),
    ...(after !== undefined && { after: clip(after) }),
  })
}

function isTree(value: Json | undefined): value is { readonly [name: string]: Json } {
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
