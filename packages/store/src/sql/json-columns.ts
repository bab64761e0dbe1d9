// Parses and formats the JSON of columns.
import { parseJsonText } from '@postern/message'

export function parseJson<T>(text: string): T {
  return parseJsonText(text) as T
}

export function formatJson(value: unknown): string {
  return JSON.stringify(value ?? null)
}
