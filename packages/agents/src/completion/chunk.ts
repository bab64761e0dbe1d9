// Reads one chunk of an OpenAI chat completion, including the dialects of other servers, and counts its tokens.
import type { TokenUsage } from '@postern/message'
import { parseJsonText, sumUsage } from '@postern/message'
import { z } from 'zod'
import { findModelError, toStreamError } from './model-error.ts'

const callDeltaSchema = z.object({
  /** Absent from older versions of Ollama (ollama/ollama#7881) and from whole answers. */
  index: z.number().nullish(),
  id: z.string().nullish(),
  function: z.object({ name: z.string().nullish(), arguments: z.unknown() }).nullish(),
})

/** Text, or a list of pieces, of which only those with text are used. */
const contentSchema = z.union([
  z.string(),
  z.array(z.object({ type: z.string(), text: z.string().nullish() })).transform(joinPieces),
])

const reasoningSchema = z.string().nullish().catch(undefined)

/** The text since the previous chunk; in a complete answer, the whole text. */
const deltaSchema = z.object({
  content: contentSchema.nullish(),
  /**
   * DeepSeek, vLLM, llama.cpp and others use `reasoning_content`; OpenRouter, Ollama, Groq and some proxies use other names. None of it is for
   * people.
   */
  reasoning_content: reasoningSchema,
  reasoning: reasoningSchema,
  thinking: reasoningSchema,
  refusal: z.string().nullish(),
  tool_calls: z.array(callDeltaSchema).nullish(),
})

const choiceSchema = z.object({
  index: z.number().nullish(),
  delta: deltaSchema.nullish(),
  message: deltaSchema.nullish(),
  finish_reason: z.string().nullish(),
  /** Moonshot reports the usage here. */
  usage: z.unknown().optional(),
})

/** OpenAI chat completions, `chat.completion.chunk` and `chat.completion`. Chunks about usage have no choices, or null. */
const chunkSchema = z.object({
  choices: z.array(choiceSchema).nullable(),
  usage: z.unknown().optional(),
  /** Groq reports the usage here in a stream whose request did not ask for it. */
  x_groq: z.object({ usage: z.unknown().optional() }).nullish().catch(undefined),
})

export type CallDelta = z.output<typeof callDeltaSchema>

export interface Chunk {
  readonly content: string
  /** The reasoning that the server separates from the text. */
  readonly reasoning: string
  readonly refusal: string
  readonly calls: readonly CallDelta[]
  /** The model's reason for stopping; undefined while it continues. */
  readonly finishReason: string | undefined
  /** The tokens of the whole answer so far. */
  readonly usage: TokenUsage | undefined
}

const emptyChunk: Chunk = {
  content: '',
  reasoning: '',
  refusal: '',
  calls: [],
  finishReason: undefined,
  usage: undefined,
}

/** The chunk for the end marker of a stream, which carries no reason. */
export const streamEnd: Chunk = { ...emptyChunk, finishReason: 'stop' }

/** Reads one event of a stream, or one whole answer. @throws Error, Unavailable */
export function readChunk(data: string): Chunk {
  const document = parseDocument(data)
  const error = findModelError(document)
  if (error) throw toStreamError(error)
  const parseResult = chunkSchema.safeParse(document)
  if (!parseResult.success) throw new Error('Cannot read the answer of the model: it is not a chat completion')
  const { choices, usage, x_groq } = parseResult.data
  const choice = choices?.find(({ index }) => (index ?? 0) === 0)
  const { content, refusal, tool_calls, ...reasoningFields } = choice?.delta ?? choice?.message ?? {}
  return {
    content: content ?? '',
    reasoning: reasoningFields.reasoning_content ?? reasoningFields.reasoning ?? reasoningFields.thinking ?? '',
    refusal: refusal ?? '',
    calls: tool_calls ?? [],
    finishReason: choice?.finish_reason || undefined,
    usage: readUsage(usage) ?? readUsage(choice?.usage) ?? readUsage(x_groq?.usage),
  }
}

function parseDocument(data: string): unknown {
  try {
    return parseJsonText(data)
  } catch {
    // The parser's own message quotes the text, which must not reach the log.
    throw new Error('Cannot read the answer of the model: it is not valid JSON')
  }
}

function joinPieces(pieces: readonly { readonly type: string; readonly text?: string | null | undefined }[]): string {
  return pieces.map(({ type, text }) => (type === 'text' ? (text ?? '') : '')).join('')
}

/** Treats invalid values as absent, so that they fail no answer. */
const tokenCountSchema = z.int().min(0).optional().catch(undefined)

const promptDetailsSchema = z
  .object({
    cached_tokens: tokenCountSchema,
    cache_write_tokens: tokenCountSchema,
    cache_creation_tokens: tokenCountSchema,
  })
  .catch({})
const completionDetailsSchema = z.object({ reasoning_tokens: tokenCountSchema }).catch({})

/** The names of OpenAI, and the names that other servers use instead. */
const usageSchema = z.object({
  prompt_tokens: tokenCountSchema,
  completion_tokens: tokenCountSchema,
  total_tokens: tokenCountSchema,
  prompt_tokens_details: promptDetailsSchema.optional(),
  completion_tokens_details: completionDetailsSchema.optional(),
  /** Some proxies pass on the names of Anthropic or of OpenAI's Responses API. */
  input_tokens: tokenCountSchema,
  output_tokens: tokenCountSchema,
  cache_read_input_tokens: tokenCountSchema,
  cache_creation_input_tokens: tokenCountSchema,
  /** Moonshot */
  cached_tokens: tokenCountSchema,
  /** DeepSeek */
  prompt_cache_hit_tokens: tokenCountSchema,
  reasoning_tokens: tokenCountSchema,
})

type ReportedUsage = z.output<typeof usageSchema>

/** Reads the token counts that the server reports and converts them to our accounting; undefined if there are no valid values. */
export function readUsage(value: unknown): TokenUsage | undefined {
  const reportedUsage = usageSchema.safeParse(value).data
  if (!reportedUsage) return undefined
  const input = readInput(reportedUsage)
  const output = readOutput(reportedUsage, input.input_tokens)
  const counts = Object.entries({ ...input, ...output }).filter(([, count]) => count !== undefined)
  // No answer is free, so zeros mean absent values.
  if (!counts.some(([, count]) => count !== 0)) return undefined
  return sumUsage([Object.fromEntries(counts)])[0]
}

/** Counts the input tokens. A cache count above the prompt's count is added to it (Anthropic's accounting) because it cannot be part of it. */
function readInput(reportedUsage: ReportedUsage) {
  const { prompt_tokens_details: details = {} } = reportedUsage
  const cachedTokens =
    details.cached_tokens ??
    reportedUsage.cache_read_input_tokens ??
    reportedUsage.prompt_cache_hit_tokens ??
    reportedUsage.cached_tokens
  const cacheWriteTokens =
    details.cache_write_tokens ?? details.cache_creation_tokens ?? reportedUsage.cache_creation_input_tokens
  const inputTokens = reportedUsage.prompt_tokens ?? reportedUsage.input_tokens
  if (inputTokens === undefined) return {}
  const cacheTokens = (cachedTokens ?? 0) + (cacheWriteTokens ?? 0)
  return {
    input_tokens: cacheTokens > inputTokens ? inputTokens + cacheTokens : inputTokens,
    cached_input_tokens: cachedTokens,
    cache_write_input_tokens: cacheWriteTokens,
  }
}

/**
 * Counts the output tokens. xAI counts reasoning separately from the answer, and Gemini only in the total, so every token that is not input
 * counts as output.
 */
function readOutput({ total_tokens: total = 0, ...reportedUsage }: ReportedUsage, input: number | undefined) {
  const reasoningTokens = reportedUsage.completion_tokens_details?.reasoning_tokens ?? reportedUsage.reasoning_tokens
  const reportedTokens = reportedUsage.completion_tokens ?? reportedUsage.output_tokens
  const outputTokens = input === undefined || total < input ? undefined : total - input
  if (reportedTokens === undefined && !outputTokens) return {}
  const output = Math.max(reportedTokens ?? 0, outputTokens ?? 0)
  return {
    output_tokens: reasoningTokens !== undefined && reasoningTokens > output ? output + reasoningTokens : output,
    reasoning_tokens: reasoningTokens,
  }
}

interface UsageWaitDeps {
  /** True if the usage of the answer is recorded. */
  readonly reportsUsage: boolean
  /** Starts the time limit for the usage, once the answer has ended. */
  startUsageTimeout(): void
}

/** Passes on the chunks of an answer, and then its usage, which most servers send after the end. Missing or wrong usage never fails the answer. */
export async function* readUntilUsage(
  chunks: AsyncIterable<Chunk>,
  { reportsUsage, startUsageTimeout }: UsageWaitDeps,
): AsyncGenerator<Chunk, void, undefined> {
  let hasEnded = false
  try {
    for await (const chunk of chunks) {
      if (!hasEnded) {
        yield chunk
        hasEnded = chunk.finishReason !== undefined
        if (hasEnded) startUsageTimeout()
      } else if (chunk.usage) yield { ...emptyChunk, usage: chunk.usage }
      if (hasEnded && (!reportsUsage || chunk.usage || chunk === streamEnd)) break
    }
  } catch (error) {
    if (!hasEnded) throw error
  }
}
