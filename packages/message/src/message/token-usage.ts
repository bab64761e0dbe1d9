// Checks and sums the tokens that models read and wrote.
import { z } from 'zod'

const labelSchema = z.string().min(1).max(300)
const countSchema = z.int().min(0)

/**
 * The tokens that one model read and wrote (AG-UI 1.0, TokenUsage). `input_tokens` and `output_tokens` are complete counts; cached, cache-written
 * and reasoning tokens are parts of them, and the total is their sum. The record contains no text of the conversation.
 */
export const tokenUsageSchema = z
  .strictObject({
    /** Provider of the model. */
    provider: labelSchema.optional(),
    /** Name of the model. */
    model: labelSchema.optional(),
    /** Tokens of the model's input. */
    input_tokens: countSchema.optional(),
    /** Tokens of the model's output. */
    output_tokens: countSchema.optional(),
    /** Their sum. */
    total_tokens: countSchema.optional(),
    /** Output tokens that were thoughts. */
    reasoning_tokens: countSchema.optional(),
    /** Input tokens that came from a cache. */
    cached_input_tokens: countSchema.optional(),
    /** Input tokens that went into a cache. */
    cache_write_input_tokens: countSchema.optional(),
  })
  .superRefine((usage, context) => {
    for (const [isRight, path, message] of rulesOf(usage)) {
      if (!isRight) context.addIssue({ code: 'custom', path: path === undefined ? [] : [path], message })
    }
  })

type Counts = { readonly [name in CountName]?: number | undefined }
type Rule = readonly [isRight: boolean, path: CountName | undefined, message: string]

function rulesOf(usage: Counts): readonly Rule[] {
  const { input_tokens: input, output_tokens: output, total_tokens: total, reasoning_tokens: reasoning } = usage
  const { cached_input_tokens: cached, cache_write_input_tokens: cacheWriteTokens } = usage
  return [
    [input !== undefined || output !== undefined, undefined, 'needs "input_tokens" or "output_tokens"'],
    [isPart(reasoning, output), 'reasoning_tokens', 'is more than "output_tokens", which it is a part of'],
    [
      isPart(addCounts(cached, cacheWriteTokens), input),
      'cached_input_tokens',
      'is more than "input_tokens", which it is a part of',
    ],
    [total === undefined || total === sumOf(usage), 'total_tokens', 'is not "input_tokens" plus "output_tokens"'],
  ]
}

function isPart(part: number | undefined, total: number | undefined): boolean {
  return part === undefined || (total !== undefined && part <= total)
}

export type TokenUsage = z.infer<typeof tokenUsageSchema>

const countNames = [
  'input_tokens',
  'output_tokens',
  'reasoning_tokens',
  'cached_input_tokens',
  'cache_write_input_tokens',
] as const
type CountName = (typeof countNames)[number] | 'total_tokens'

/** Returns one sum for each provider and model, in the order of their first appearance. Counts that nobody gave stay absent. */
export function sumUsage(usages: readonly TokenUsage[]): TokenUsage[] {
  const sums = new Map<string, TokenUsage>()
  for (const usage of usages) {
    const name = JSON.stringify([usage.provider, usage.model])
    sums.set(name, addUsage(sums.get(name), usage))
  }
  return [...sums.values()]
}

function addUsage(before: TokenUsage | undefined, { provider, model, ...counts }: TokenUsage): TokenUsage {
  const counted: { [name in CountName]?: number } = {}
  for (const name of countNames) {
    const sum = addCounts(before?.[name], counts[name])
    if (sum !== undefined) counted[name] = sum
  }
  const total = sumOf(counted)
  return {
    ...(provider !== undefined && { provider }),
    ...(model !== undefined && { model }),
    ...counted,
    ...(total !== undefined && { total_tokens: total }),
  }
}

function addCounts(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return a + b
}

/** Returns the sum; undefined if one of the two numbers is missing. */
function sumOf({ input_tokens, output_tokens }: Counts): number | undefined {
  return input_tokens === undefined || output_tokens === undefined ? undefined : input_tokens + output_tokens
}
