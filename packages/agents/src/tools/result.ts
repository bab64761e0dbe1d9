import { parseJsonText } from '@postern/core'

/** Characters of a result for a model. */
const maxResult = 100_000

export type ToolOutcome = { readonly result: unknown } | { readonly error: { readonly message: string } }

/** The result of a call for the model: text as it is, everything else as JSON. */
export function formatToolResult(outcome: ToolOutcome): string {
  if ('error' in outcome) return JSON.stringify({ error: outcome.error.message })
  return typeof outcome.result === 'string' ? outcome.result : JSON.stringify(outcome.result ?? null)
}

/** What a tool returned, as JSON can hold it. @throws Error when it cannot, or is too large for a model */
export function toToolResult(value: unknown): unknown {
  const text = JSON.stringify(value ?? null)
  if (text === undefined) throw new Error('The result of a tool is no JSON')
  if (text.length > maxResult) throw new Error(`The result of a tool is longer than ${maxResult} characters`)
  return parseJsonText(text)
}
