// Requests a chat completion over HTTP and streams its chunks, with timeouts for silence.

import { parseMediaType } from '@postern/http'
import type { OpenStream, StreamAnswer, System } from '@postern/message'
import { parseIfJson, toWellFormed, Unavailable } from '@postern/message'
import { throwIfTransient } from '../kind/transient-status.ts'
import type { ReasoningHabit } from '../speech/reasoning-habit.ts'
import type { Chunk } from './chunk.ts'
import { readChunk, readUntilUsage, streamEnd } from './chunk.ts'
import { readEventData } from './event-data.ts'
import type { UsageRequest } from './model-error.ts'
import { findModelError, isContentRefused, toStatusError } from './model-error.ts'

/** The maximum size of one answer with its reasoning, bytes. */
const maxAnswerBytes = 16 * 1024 * 1024
const maxErrorBytes = 64 * 1024

/** The connection to one model. */
export interface ModelEndpoint {
  readonly url: string
  readonly apiKey: string | undefined
  /** The name under which the usage of its answers is recorded. */
  readonly model: string
  /** Remembers whether the model's text begins inside a thought. */
  readonly reasoningHabit: ReasoningHabit
  readonly usage: UsageRequest
  readonly openStream: OpenStream
  readonly system: Pick<System, 'now' | 'sleep'>
}

interface CompletionLimits {
  readonly signal: AbortSignal
  /**
   * The timeout for the beginning and for each pause, ms, after which the answer is Unavailable. A model that keeps sending may continue until
   * the signal aborts.
   */
  readonly timeoutMs: number
}

/** The longest pause after which a model still counts as writing, ms. */
const pauseAllowanceMs = 2_000
/** The longest wait for the usage after the end of an answer, ms. Readers already have the text at that time. */
const usageWaitMs = 2_000

/** The readers of the response body, by media type. Many servers do not stream, and some stream without declaring the media type. */
const bodyReaders: Readonly<Record<string, (body: StreamAnswer['body']) => AsyncGenerator<Chunk, void, undefined>>> = {
  'text/event-stream': readStream,
  'text/plain': readStream,
  '': readStream,
  'application/json': readUnstreamed,
}

/**
 * Requests one completion and returns its chunks.
 * @throws Unavailable for transient failures: 408, 425, 429, 5xx, silence, a stream that ends early
 * @throws Error for everything else
 */
export async function* openCompletion(
  body: object,
  endpoint: ModelEndpoint,
  { signal, timeoutMs }: CompletionLimits,
): AsyncGenerator<Chunk, void, undefined> {
  const { system, usage } = endpoint
  const cancellation = new AbortController()
  const markActivity = createSilenceTimeout(cancellation, system, timeoutMs)
  const startUsageTimeout = () => void system.sleep(usageWaitMs, cancellation.signal).then(() => cancellation.abort())
  const sendRequest = (usageMembers: object) =>
    openResponse({ ...body, ...usageMembers }, endpoint, {
      signal: AbortSignal.any([signal, cancellation.signal]),
      timeoutMs,
    })
  try {
    const response = await usage.post(sendRequest, readErrorText)
    const chunks = readCompletion(response, endpoint)
    for await (const chunk of readUntilUsage(chunks, { reportsUsage: usage.isEnabled, startUsageTimeout })) {
      markActivity()
      yield chunk
    }
  } catch (error) {
    // The reason of the caller is more precise than the network error, which only says that the connection was closed.
    signal.throwIfAborted()
    throw cancellation.signal.aborted ? new Unavailable('The model went silent', { cause: error }) : error
  } finally {
    cancellation.abort()
  }
}

function openResponse(
  body: object,
  { url, apiKey, openStream }: ModelEndpoint,
  { signal, timeoutMs }: CompletionLimits,
): Promise<StreamAnswer> {
  return openStream(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream, application/json',
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    },
    // The messages may contain a lone surrogate that another model wrote.
    body: JSON.stringify(toWellFormed(body)),
    timeoutMs,
    idleMs: timeoutMs,
    maxBytes: maxAnswerBytes,
    signal,
  })
}

/** Creates a timeout that aborts the request if the model is silent for too long. @returns the function to call for each chunk */
function createSilenceTimeout(
  cancellation: AbortController,
  { now, sleep }: ModelEndpoint['system'],
  timeoutMs: number,
) {
  let lastChunkAt = Number.NEGATIVE_INFINITY
  void sleep(timeoutMs, cancellation.signal).then(() => {
    if (now() - lastChunkAt >= pauseAllowanceMs) cancellation.abort()
  })
  return () => {
    lastChunkAt = now()
  }
}

async function* readCompletion(
  response: StreamAnswer,
  endpoint: Pick<ModelEndpoint, 'url' | 'system'>,
): AsyncGenerator<Chunk, void, undefined> {
  const { status, headers, body } = response
  if (status !== 200) {
    yield await readFailure(response, endpoint)
    return
  }
  const { type = '' } = parseMediaType(headers.get('content-type')) ?? {}
  const readBody = bodyReaders[type]
  if (!readBody) throw new Error('The model answered with no chat completion; check "base_url"')
  yield* readBody(body)
}

async function* readStream(body: StreamAnswer['body']): AsyncGenerator<Chunk, void, undefined> {
  for await (const data of readEventData(body)) {
    yield data === '[DONE]' ? streamEnd : readChunk(data)
  }
  throw new Unavailable('The model broke off in the middle of its answer')
}

async function* readUnstreamed(body: StreamAnswer['body']): AsyncGenerator<Chunk, void, undefined> {
  const chunk = readChunk(await readText(body, maxAnswerBytes))
  yield { ...chunk, finishReason: chunk.finishReason ?? 'stop' }
}

/** Reads the error that the server reports. A refusal by a content filter counts as a complete answer. */
async function readFailure(
  answer: StreamAnswer,
  { url, system }: Pick<ModelEndpoint, 'url' | 'system'>,
): Promise<Chunk> {
  throwIfTransient({ serverName: 'model', url }, answer, system.now())
  const error = findModelError(parseIfJson(await readErrorText(answer.body)))
  if (isContentRefused(error)) return { ...streamEnd, finishReason: 'content_filter' }
  throw toStatusError(url, answer, error)
}

async function readText(body: StreamAnswer['body'], maxBytes: number): Promise<string> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of body) {
    pieces.push(piece)
    size += piece.length
    if (size > maxBytes) break
  }
  return Buffer.concat(pieces).toString('utf8')
}

function readErrorText(body: StreamAnswer['body']): Promise<string> {
  return readText(body, maxErrorBytes)
}
