// Reads the errors of model servers and distinguishes transient failures from permanent ones.

import type { HttpResponseStatus } from '@postern/http'
import { formatStatus } from '@postern/http'
import type { StreamAnswer } from '@postern/message'
import { parseIfJson, Unavailable } from '@postern/message'
import { z } from 'zod'
import { isTransientStatus } from '../kind/transient-status.ts'

const modelErrorSchema = z.object({
  code: z.union([z.string(), z.number()]).nullish(),
  type: z.string().nullish(),
  message: z.string().nullish(),
})

/** OpenAI, llama.cpp and Ollama put the error into `error`; vLLM also sends it unwrapped; some proxies send only a sentence. */
const errorDocumentSchema = z.union([
  z.object({ error: modelErrorSchema }).transform(({ error }) => error),
  z.object({ error: z.string() }).transform(({ error }) => ({ message: error })),
  z.object({ object: z.literal('error') }).and(modelErrorSchema),
])

type ModelError = z.output<typeof modelErrorSchema>

/** The error codes and types of transient failures. A stream reports errors by these codes, because its HTTP status has already been sent. */
const transientCodes: ReadonlySet<string> = new Set([
  'rate_limit_exceeded',
  'rate_limit_error',
  'server_error',
  'internal_server_error',
  'internalservererror',
  'overloaded_error',
  'unavailable_error',
])

/** The advice for the reader of the log, by HTTP status. */
const statusHints: Readonly<Record<number, string>> = {
  401: 'check "api_key"',
  403: 'check "api_key"',
  404: 'check "base_url" and "model"',
  405: 'check "base_url"',
}

/** Finds the error that the model's server reports; undefined if the document is no error. */
export function findModelError(document: unknown): ModelError | undefined {
  return errorDocumentSchema.safeParse(document).data
}

/** Returns true if the server refused the content. Azure reports this with status 400. */
export function isContentRefused(error: ModelError | undefined): boolean {
  return error?.code === 'content_filter'
}

/** Converts an error inside a stream to an exception, which is Unavailable if the failure may be transient. */
export function toStreamError(error: ModelError): Error {
  const { code, type } = error
  const isTransient = [code, type].some(word =>
    /^\d{3}$/.test(String(word)) ? isTransientStatus(Number(word)) : transientCodes.has(String(word).toLowerCase()),
  )
  const text = `The model broke off: ${describeError(error)}`
  return isTransient ? new Unavailable(text) : new Error(text, { cause: quoteError(error) })
}

/** Converts a status of a permanent failure to an error. */
export function toStatusError(url: string, response: HttpResponseStatus, error: ModelError | undefined): Error {
  const detail = error ? `: ${describeError(error)}` : ''
  const hint = statusHints[response.status] ? `; ${statusHints[response.status]}` : ''
  return new Error(`The model answered ${formatStatus(url, response)}${detail}${hint}`, { cause: quoteError(error) })
}

/** Names an error only by its code and type, which have a fixed form, because sentences may quote the request. */
function describeError({ code, type }: ModelError): string {
  const codes = [code, type].map(String).filter(word => /^[\w.-]{1,64}$/.test(word) && !/^(null|undefined)$/.test(word))
  return codes.join(', ') || 'it names no reason'
}

/** Quotes the server's message, with keys masked. The quotation is only for the log. */
function quoteError(error: ModelError | undefined): Error | undefined {
  const text = error?.message
    ?.replace(/\p{Cc}+/gu, ' ')
    .replace(/\b(?:sk|pk|gsk|key)-[\w*-]{8,}|\bBearer \S+/gi, '(key)')
  return text ? new Error(text.slice(0, 300)) : undefined
}

/** The policy for asking a model's server about token usage. */
export interface UsageRequest {
  /** True if the usage is read when the server reports it. */
  readonly isEnabled: boolean
  /** Posts a request that asks for the usage. A server that refuses the additional members gets requests without them, now and later. */
  post(
    send: (members: object) => Promise<StreamAnswer>,
    readText: (body: StreamAnswer['body']) => Promise<string>,
  ): Promise<StreamAnswer>
}

/** Older versions of Azure and vLLM, and strict proxies, answer with 400, and Mistral answers with 422 (openai/openai-agents-python#442). */
const refusalStatuses: ReadonlySet<number> = new Set([400, 422])

/** Creates the policy for one model. `needsStreamOptions` is true if a stream reports usage only on request; complete answers contain it anyway. */
export function createUsageRequest({
  isEnabled,
  needsStreamOptions,
}: {
  readonly isEnabled: boolean
  readonly needsStreamOptions: boolean
}): UsageRequest {
  let state: 'unknown' | 'accepted' | 'refused' = isEnabled && needsStreamOptions ? 'unknown' : 'refused'
  return {
    isEnabled,
    async post(send, readText) {
      if (state === 'refused') return send({})
      const response = await send({ stream_options: { include_usage: true } })
      if (response.status === 200) state = 'accepted'
      if (!refusalStatuses.has(response.status)) return response
      const errorText = await readText(response.body)
      // A server that accepted these members before refuses for another reason, and so does a content filter.
      const hasOtherReason = state !== 'unknown' || isContentRefused(findModelError(parseIfJson(errorText)))
      const namesStreamOptions = /stream_options|include_usage/.test(errorText)
      if (hasOtherReason && !namesStreamOptions) return { ...response, body: streamText(errorText) }
      const retryResponse = await send({})
      if (retryResponse.status === 200) state = 'refused'
      return retryResponse
    },
  }
}

async function* streamText(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from(text)
}
