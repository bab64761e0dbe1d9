import type { StreamAnswer } from '@postern/core'
import { parseIfJson, Unavailable } from '@postern/core'
import { z } from 'zod'
import { isPassingStatus } from '../kind/passing-status.ts'

const modelErrorSchema = z.object({
  code: z.union([z.string(), z.number()]).nullish(),
  type: z.string().nullish(),
  message: z.string().nullish(),
})

/** OpenAI, llama.cpp and Ollama put it in `error`; vLLM also sends it bare, some proxies only a sentence. */
const errorDocumentSchema = z.union([
  z.object({ error: modelErrorSchema }).transform(({ error }) => error),
  z.object({ error: z.string() }).transform(({ error }) => ({ message: error })),
  z.object({ object: z.literal('error') }).and(modelErrorSchema),
])

type ModelError = z.output<typeof modelErrorSchema>

/** Codes and types that replace a status inside a stream, which has no second one. */
const passingCodes: ReadonlySet<string> = new Set([
  'rate_limit_exceeded',
  'rate_limit_error',
  'server_error',
  'internal_server_error',
  'internalservererror',
  'overloaded_error',
  'unavailable_error',
])

/** What else a status tells the reader of the log. */
const hints: Readonly<Record<number, string>> = {
  401: 'check "api_key"',
  403: 'check "api_key"',
  404: 'check "base_url" and "model"',
  405: 'check "base_url"',
}

/** The fault that the model's server reports; undefined when the document is no error. */
export function findModelError(document: unknown): ModelError | undefined {
  return errorDocumentSchema.safeParse(document).data
}

/** Whether the content is refused: Azure does so with a status 400. */
export function isContentRefused(error: ModelError | undefined): boolean {
  return error?.code === 'content_filter'
}

/** An error inside a stream: Unavailable if it may pass. */
export function toStreamError(error: ModelError): Error {
  const { code, type } = error
  const isPassing = [code, type].some(word =>
    /^\d{3}$/.test(String(word)) ? isPassingStatus(Number(word)) : passingCodes.has(String(word).toLowerCase()),
  )
  const text = `The model broke off: ${nameError(error)}`
  return isPassing ? new Unavailable(text) : new Error(text, { cause: quoteError(error) })
}

/** A status that does not pass. */
export function toStatusError(status: number, error: ModelError | undefined): Error {
  const said = error ? `: ${nameError(error)}` : ''
  const hint = hints[status] ? `; ${hints[status]}` : ''
  return new Error(`The model answered ${status}${said}${hint}`, { cause: quoteError(error) })
}

/** Only words of a fixed form, because sentences may quote the request. */
function nameError({ code, type }: ModelError): string {
  const words = [code, type].map(String).filter(word => /^[\w.-]{1,64}$/.test(word) && !/^(null|undefined)$/.test(word))
  return words.join(', ') || 'it names no reason'
}

/** For the log alone. A key that it may quote is masked. */
function quoteError(error: ModelError | undefined): Error | undefined {
  const text = error?.message
    ?.replace(/\p{Cc}+/gu, ' ')
    .replace(/\b(?:sk|pk|gsk|key)-[\w*-]{8,}|\bBearer \S+/gi, '(key)')
  return text ? new Error(text.slice(0, 300)) : undefined
}

/** Whether to ask a model's server what its answers cost. */
export interface UsageAsking {
  /** Whether what it tells is read. */
  readonly isWanted: boolean
  /** Posts a request that asks for it. A server that refuses the members for it gets requests without them, now and later. */
  post(
    send: (members: object) => Promise<StreamAnswer>,
    readText: (body: StreamAnswer['body']) => Promise<string>,
  ): Promise<StreamAnswer>
}

/** Older Azure, vLLM and strict proxies say 400, Mistral (openai/openai-agents-python#442) 422. */
const refusals: ReadonlySet<number> = new Set([400, 422])

/** `asks`: a stream needs the members; whole answers contain the cost anyway. */
export function createUsageAsking({ isWanted, asks }: { isWanted: boolean; asks: boolean }): UsageAsking {
  let state: 'unknown' | 'accepted' | 'refused' = isWanted && asks ? 'unknown' : 'refused'
  return {
    isWanted,
    async post(send, readText) {
      if (state === 'refused') return send({})
      const answer = await send({ stream_options: { include_usage: true } })
      if (answer.status === 200) state = 'accepted'
      if (!refusals.has(answer.status)) return answer
      const complaint = await readText(answer.body)
      // A server that accepted them before has another reason, and so has a content filter.
      const isOther = state !== 'unknown' || isContentRefused(findModelError(parseIfJson(complaint)))
      const isNamed = /stream_options|include_usage/.test(complaint)
      if (isOther && !isNamed) return { ...answer, body: repeat(complaint) }
      const again = await send({})
      if (again.status === 200) state = 'refused'
      return again
    },
  }
}

async function* repeat(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from(text)
}
