import type { TokenUsage } from '@postern/core'
import { parseJsonText } from '@postern/core'
import { z } from 'zod'
import { findModelError, toStreamError } from './model-error.ts'
import { readUsage } from './read-usage.ts'

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
