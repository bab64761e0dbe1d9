import type { FetchAnswer, FetchRequest, Platform } from '@postern/core'
import { isJsonObject, Unavailable, Undeliverable } from '@postern/core'
import { parseBoundedJson, parseRetryAfter } from '@postern/http'

interface DocumentRequest {
  readonly what: string
  readonly accept: string
  readonly signal: AbortSignal | undefined
  /** Number of redirects; default none. */
  readonly redirects?: FetchRequest['redirects']
}

const bounds = { timeoutMs: 10_000, maxBytes: 256 * 1024 } as const
const maxDepth = 32

/** Fetches a JSON object of a stranger, with a size limit and without redirects by default. @throws Unavailable, Undeliverable */
export async function fetchDocument(
  url: string,
  { fetch, now }: Pick<Platform, 'fetch' | 'now'>,
  { what, accept, signal, redirects = 0 }: DocumentRequest,
): Promise<Readonly<Record<string, unknown>>> {
  // Servers that also speak 0.3 have two cards at one address. They give the old one to clients that name no version.
  const headers = { accept, 'a2a-version': '1.0' }
  const answer = await fetch(url, { ...bounds, redirects, headers, ...(signal && { signal }) })
  const { status, body } = answer
  checkAvailable(answer, `${what} was answered`, now())
  if (status !== 200) throw refuseAgent(`${what} was answered with ${status}`)
  return readPeerObject(body, what)
}

export type AnswerHead = Pick<FetchAnswer, 'status' | 'headers'>

/** @throws Unavailable for an answer that may be another one later */
export function checkAvailable({ status, headers }: AnswerHead, told: string, now: number): void {
  if (status !== 429 && status < 500) return
  const retryAfter = parseRetryAfter(headers.get('retry-after'), now)
  throw new Unavailable(`Cannot call agent: ${told} with ${status}`, { retryAfter })
}

/** @throws Undeliverable */
export function readPeerObject(bytes: Uint8Array, what: string): Readonly<Record<string, unknown>> {
  const document = readJson(bytes, what)
  if (!isJsonObject(document)) throw refuseAgent(`${what} is not an object`)
  return document
}

function readJson(bytes: Uint8Array, what: string): unknown {
  try {
    return parseBoundedJson(bytes, { maxDepth, what })
  } catch (cause) {
    throw refuseAgent(`${what} is not JSON as it should be`, cause)
  }
}

/** Why the gateway does not call an agent: its card or its answer is invalid. */
export function refuseAgent(problem: string, cause?: unknown): Undeliverable {
  return new Undeliverable(`Cannot call agent: ${problem}`, { cause })
}

/** The answer breaks the protocol: A2A's InvalidAgentResponse (-32006). */
export function refuseAnswer(problem: string, cause?: unknown): Undeliverable {
  return refuseAgent(`its answer is not valid (${problem})`, cause)
}

/** The agent answered with an error, so it did not accept the call. `code` is that of JSON-RPC or the HTTP status. */
export class ErrorAnswer extends Undeliverable {
  readonly code: unknown

  constructor(code: unknown, told: string) {
    super(`Cannot call agent: it answered with ${told}`)
    this.code = code
  }
}

/**
 * One deadline for a whole call: `signal` aborts when the time is over, or with the caller's reason; `clear` releases the timer.
 * `AbortSignal.timeout` would keep the call in memory until then, even after it ends.
 */
export function openCallDeadline(ms: number, caller: AbortSignal | undefined, { sleep }: Pick<Platform, 'sleep'>) {
  const over = new AbortController()
  const done = new AbortController()
  void sleep(ms, done.signal).then(() => {
    if (!done.signal.aborted) over.abort(new Unavailable('Cannot call agent: it did not answer in time'))
  })
  return {
    signal: caller ? AbortSignal.any([caller, over.signal]) : over.signal,
    clear: () => done.abort(),
  }
}
