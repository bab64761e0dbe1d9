import type { TokenUsage } from '@postern/core'
import { sumUsage } from '@postern/core'
import { z } from 'zod'

/** Invalid values count as absent, so that no answer fails by them. */
const countSchema = z.int().min(0).optional().catch(undefined)

const promptDetailsSchema = z
  .object({ cached_tokens: countSchema, cache_write_tokens: countSchema, cache_creation_tokens: countSchema })
  .catch({})
const completionDetailsSchema = z.object({ reasoning_tokens: countSchema }).catch({})

/** OpenAI's names, and those that others use in their place. */
const usageSchema = z.object({
  prompt_tokens: countSchema,
  completion_tokens: countSchema,
  total_tokens: countSchema,
  prompt_tokens_details: promptDetailsSchema.optional(),
  completion_tokens_details: completionDetailsSchema.optional(),
  /** Some proxies hand on the names of Anthropic, or of OpenAI's responses. */
  input_tokens: countSchema,
  output_tokens: countSchema,
  cache_read_input_tokens: countSchema,
  cache_creation_input_tokens: countSchema,
  /** Moonshot */
  cached_tokens: countSchema,
  /** DeepSeek */
  prompt_cache_hit_tokens: countSchema,
  reasoning_tokens: countSchema,
})

type ToldUsage = z.output<typeof usageSchema>

/** What an answer cost by its server, in our accounting; undefined without valid values. */
export function readUsage(value: unknown): TokenUsage | undefined {
  const told = usageSchema.safeParse(value).data
  if (!told) return undefined
  const input = readInput(told)
  const output = readOutput(told, input.input_tokens)
  const counts = Object.entries({ ...input, ...output }).filter(([, count]) => count !== undefined)
  // No answer is free, so zeros mean absent values.
  if (!counts.some(([, count]) => count !== 0)) return undefined
  return sumUsage([Object.fromEntries(counts)])[0]
}

/** A cache count above the prompt's is counted beside it (Anthropic's accounting) and not as a part. */
function readInput(told: ToldUsage) {
  const { prompt_tokens_details: details = {} } = told
  const cached =
    details.cached_tokens ?? told.cache_read_input_tokens ?? told.prompt_cache_hit_tokens ?? told.cached_tokens
  const written = details.cache_write_tokens ?? details.cache_creation_tokens ?? told.cache_creation_input_tokens
  const given = told.prompt_tokens ?? told.input_tokens
  if (given === undefined) return {}
  const parts = (cached ?? 0) + (written ?? 0)
  return {
    input_tokens: parts > given ? given + parts : given,
    cached_input_tokens: cached,
    cache_write_input_tokens: written,
  }
}

/** xAI counts thoughts beside the answer, Gemini in the total alone: whatever is no input has been put out. */
function readOutput({ total_tokens: total = 0, ...told }: ToldUsage, input: number | undefined) {
  const reasoning = told.completion_tokens_details?.reasoning_tokens ?? told.reasoning_tokens
  const said = told.completion_tokens ?? told.output_tokens
  const rest = input === undefined || total < input ? undefined : total - input
  if (said === undefined && !rest) return {}
  const output = Math.max(said ?? 0, rest ?? 0)
  return {
    output_tokens: reasoning !== undefined && reasoning > output ? output + reasoning : output,
    reasoning_tokens: reasoning,
  }
}
