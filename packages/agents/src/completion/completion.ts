import type { OpenStream, Platform, StreamAnswer } from '@postern/core'
import { parseIfJson, Unavailable } from '@postern/core'
import { parseMediaType } from '@postern/http'
import { checkPassingStatus } from '../kind/passing-status.ts'
import type { Chunk } from './chunk.ts'
import { holdEnd, readChunk, streamEnd } from './chunk.ts'
import { readEventData } from './event-data.ts'
import type { UsageAsking } from './model-error.ts'
import { findModelError, isContentRefused, toStatusError } from './model-error.ts'

/** Bytes of one answer at most, with reasoning. */
const maxAnswerBytes = 16 * 1024 * 1024
const maxErrorBytes = 64 * 1024

/** The connection to one model. */
export interface ModelEndpoint {
  readonly url: string
  readonly apiKey: string | undefined
  /** The name for the cost of its answers. */
  readonly model: string
  readonly usage: UsageAsking
  readonly openStream: OpenStream
  readonly platform: Pick<Platform, 'now' | 'sleep'>
}

interface CompletionTime {
  readonly signal: AbortSignal
  /** Without a beginning by then, or after a pause, the answer is Unavailable. A model that goes on has until the signal aborts. */
  readonly timeoutMs: number
}

/** A model that sent text this recently is still writing, ms. */
const breathMs = 2_000
/** How long to wait after the end for the cost, ms. The text has been sent by then. */
const tailMs = 2_000

/** Reads by the media type of the answer, because many servers answer whole, and some do not declare a stream. */
const bodyReaders: Readonly<Record<string, (body: StreamAnswer['body']) => AsyncGenerator<Chunk, void, undefined>>> = {
  'text/event-stream': readStream,
  'text/plain': readStream,
  '': readStream,
  'application/json': readWhole,
}

/**
 * Requests one completion and returns its pieces. @throws Unavailable for failures that pass: 408, 425, 429, 5xx, silence, a stream that
 * breaks off @throws Error for everything else
 */
export async function* openCompletion(
  body: object,
  endpoint: ModelEndpoint,
  { signal, timeoutMs }: CompletionTime,
): AsyncGenerator<Chunk, void, undefined> {
  const { platform, usage } = endpoint
  const leaving = new AbortController()
  const noteSpoken = watchSilence(leaving, platform, timeoutMs)
  const startTail = () => void platform.sleep(tailMs, leaving.signal).then(() => leaving.abort())
  const post = (more: object) =>
    openAnswer({ ...body, ...more }, endpoint, { signal: AbortSignal.any([signal, leaving.signal]), timeoutMs })
  try {
    const answer = await usage.post(post, readComplaint)
    const chunks = readCompletion(answer, platform.now())
    for await (const chunk of holdEnd(chunks, { isWanted: usage.isWanted, startTail })) {
      noteSpoken()
      yield chunk
    }
  } catch (error) {
    // The caller's reason is known; the network error only says that the connection was cut.
    signal.throwIfAborted()
    throw leaving.signal.aborted ? new Unavailable('The model went silent', { cause: error }) : error
  } finally {
    leaving.abort()
  }
}

function openAnswer(
  body: object,
  { url, apiKey, openStream }: ModelEndpoint,
  { signal, timeoutMs }: CompletionTime,
): Promise<StreamAnswer> {
  return openStream(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream, application/json',
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    },
    body: JSON.stringify(body),
    timeoutMs,
    idleMs: timeoutMs,
    maxBytes: maxAnswerBytes,
    signal,
  })
}

/** Leaves when the model is silent for too long. @returns what is to be called for each piece */
function watchSilence(leaving: AbortController, { now, sleep }: ModelEndpoint['platform'], timeoutMs: number) {
  let streamedAt = Number.NEGATIVE_INFINITY
  void sleep(timeoutMs, leaving.signal).then(() => {
    if (now() - streamedAt >= breathMs) leaving.abort()
  })
  return () => {
    streamedAt = now()
  }
}

async function* readCompletion(answer: StreamAnswer, now: number): AsyncGenerator<Chunk, void, undefined> {
  const { status, headers, body } = answer
  if (status !== 200) {
    yield await readFailure(answer, now)
    return
  }
  const { type = '' } = parseMediaType(headers.get('content-type')) ?? {}
  const read = bodyReaders[type]
  if (!read) throw new Error('The model answered with no chat completion; check "base_url"')
  yield* read(body)
}

async function* readStream(body: StreamAnswer['body']): AsyncGenerator<Chunk, void, undefined> {
  for await (const data of readEventData(body)) {
    yield data === '[DONE]' ? streamEnd : readChunk(data)
  }
  throw new Unavailable('The model broke off in the middle of its answer')
}

async function* readWhole(body: StreamAnswer['body']): AsyncGenerator<Chunk, void, undefined> {
  const chunk = readChunk(await readText(body, maxAnswerBytes))
  yield { ...chunk, finish: chunk.finish ?? 'stop' }
}

/** A refusal is an answer, too. */
async function readFailure(answer: StreamAnswer, now: number): Promise<Chunk> {
  checkPassingStatus('model', answer, now)
  const error = findModelError(parseIfJson(await readComplaint(answer.body)))
  if (isContentRefused(error)) return { ...streamEnd, finish: 'content_filter' }
  throw toStatusError(answer.status, error)
}

async function readText(body: StreamAnswer['body'], most: number): Promise<string> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of body) {
    pieces.push(piece)
    size += piece.length
    if (size > most) break
  }
  return Buffer.concat(pieces).toString('utf8')
}

function readComplaint(body: StreamAnswer['body']): Promise<string> {
  return readText(body, maxErrorBytes)
}
