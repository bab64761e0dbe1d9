import type { Json } from '@postern/core'
import { readEntryUsage } from '../entry/usage.ts'
import { isJsonMap } from '../json/difference.ts'

/** Members of AG-UI's TokenUsage by ours. */
const aguiNames: Readonly<Record<string, string>> = {
  provider: 'provider',
  model: 'model',
  input_tokens: 'inputTokens',
  output_tokens: 'outputTokens',
  total_tokens: 'totalTokens',
  reasoning_tokens: 'reasoningTokens',
  cached_input_tokens: 'cachedInputTokens',
  cache_write_input_tokens: 'cacheWriteInputTokens',
}
const ownNames = Object.fromEntries(Object.entries(aguiNames).map(([own, agui]) => [agui, own]))

/** TokenUsage of AG-UI 1.0. */
export type AguiUsage = {
  provider?: string
  model?: string
  inputTokens?: number
  outputTokens?: number
  totalTokens?: number
  reasoningTokens?: number
  cachedInputTokens?: number
  cacheWriteInputTokens?: number
}

/** Usage in the form of AG-UI; undefined when there is none. */
export function writeAguiUsage(usage: Json | undefined): AguiUsage[] | undefined {
  return readEntryUsage(usage)?.map(each => rename(each, aguiNames))
}

/** Usage from AG-UI; undefined when it has more members, or another accounting. */
export function readAguiUsage(usage: Json | undefined): Json | undefined {
  if (!Array.isArray(usage) || !usage.every(isAguiUsage)) return undefined
  return readEntryUsage(usage.map(each => rename(each, ownNames)))
}

function isAguiUsage(value: Json): value is { readonly [name: string]: Json } {
  return isJsonMap(value) && Object.keys(value).every(name => Object.hasOwn(ownNames, name))
}

function rename(members: object, names: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [names[name] ?? name, value]))
}
