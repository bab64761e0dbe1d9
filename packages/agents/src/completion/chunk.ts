import type { TokenUsage } from '@postern/core'
import { parseJsonText, sumUsage } from '@postern/core'
import { z } from 'zod'
import { findModelError, toStreamError } from './model-error.ts'

const callDeltaSchema = z.object({
  /** Absent from older Ollama (ollama/ollama#7881), and from whole answers. */
  index: z.number().nullish(),
  id: z.string().nullish(),
  function: z.object({ name: z.string().nullish(), arguments: z.unknown() }).nullish(),
})

/** Text, or pieces, of which only text is used. */
const contentSchema = z.union([
  z.string(),
  z.array(z.object({ type: z.string(), text: z.string().nullish() })).transform(joinPieces),
])

/** The text since the chunk before; of a whole answer: all of it. Reasoning, by whatever name, is left out. */
const deltaSchema = z.object({
  content: contentSchema.nullish(),
  refusal: z.string().nullish(),
  tool_calls: z.array(callDeltaSchema).nullish(),
})

const choiceSchema = z.object({
  index: z.number().nullish(),
  delta: deltaSchema.nullish(),
  message: deltaSchema.nullish(),
  finish_reason: z.string().nullish(),
  /** Moonshot tells it here. */
  usage: z.unknown().optional(),
})

/** OpenAI chat completions, `chat.completion.chunk` and `chat.completion`. Chunks about usage have no choices, or null. */
const chunkSchema = z.object({
  choices: z.array(choiceSchema).nullable(),
  usage: z.unknown().optional(),
  /** Groq's place for it in a stream that was not asked. */
  x_groq: z.object({ usage: z.unknown().optional() }).nullish().catch(undefined),
})

export type CallDelta = z.output<typeof callDeltaSchema>

export interface Chunk {
  readonly content: string
  readonly refusal: string
  readonly calls: readonly CallDelta[]
  /** Why the model stopped; undefined while it goes on. */
  readonly finish: string | undefined
  /** Of the whole answer so far. */
  readonly usage: TokenUsage | undefined
}

const nothing: Chunk = { content: '', refusal: '', calls: [], finish: undefined, usage: undefined }

/** The end that a stream names itself, without a reason. */
export const streamEnd: Chunk = { ...nothing, finish: 'stop' }

/** One event of a stream, or one whole answer. @throws Error, Unavailable */
export function readChunk(data: string): Chunk {
  const document = parseDocument(data)
  const error = findModelError(document)
  if (error) throw toStreamError(error)
  const parsed = chunkSchema.safeParse(document)
  if (!parsed.success) throw new Error('Cannot read the answer of the model: it is not a chat completion')
  const { choices, usage, x_groq } = parsed.data
  const choice = choices?.find(({ index }) => (index ?? 0) === 0)
  const { content, refusal, tool_calls } = choice?.delta ?? choice?.message ?? {}
  return {
    content: content ?? '',
    refusal: refusal ?? '',
    calls: tool_calls ?? [],
    finish: choice?.finish_reason || undefined,
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

interface TailDeps {
  /** Whether anybody needs the cost of the answer. */
  readonly isWanted: boolean
  /** The end has come. The wait for more is short. */
  startTail(): void
}

/** An answer in pieces, and its end with the cost, which most servers send after it. A missing or wrong cost never spoils the answer. */
export async function* holdEnd(
  chunks: AsyncIterable<Chunk>,
  { isWanted, startTail }: TailDeps,
): AsyncGenerator<Chunk, void, undefined> {
  let end: Chunk | undefined
  try {
    for await (const chunk of chunks) {
      if (end) end = { ...end, usage: chunk.usage }
      else if (chunk.finish === undefined) yield chunk
      else {
        // Its text does not wait.
        yield { ...chunk, finish: undefined }
        end = { ...streamEnd, finish: chunk.finish }
        startTail()
      }
      if (end && (!isWanted || chunk.usage || chunk === streamEnd)) break
    }
  } catch (error) {
    if (!end) throw error
  }
  if (end) yield end
}
