// Fetches JSON documents of other agents and defines the errors for their answers.
import type { HttpResponseStatus } from '@postern/http'
import { formatStatus, parseBoundedJson, parseRetryAfter } from '@postern/http'
import type { FetchRequest, System } from '@postern/message'
import { isJsonObject, Unavailable, Undeliverable } from '@postern/message'

interface DocumentRequest {
  readonly subject: string
  readonly accept: string
  readonly signal: AbortSignal | undefined
  /** The most redirects. Default: none. */
  readonly redirects?: FetchRequest['redirects']
}

const bounds = { timeoutMs: 10_000, maxBytes: 256 * 1024 } as const
const maxDepth = 32

/** Fetches a JSON object of a stranger, with a size limit and without redirects by default. @throws Unavailable, Undeliverable */
export async function fetchDocument(
  url: string,
  { fetch, now }: Pick<System, 'fetch' | 'now'>,
  { subject, accept, signal, redirects = 0 }: DocumentRequest,
): Promise<Readonly<Record<string, unknown>>> {
  // Servers that also support 0.3 have two cards at one address. Clients that name no version get the old one.
  const headers = { accept, 'a2a-version': '1.0' }
  const response = await fetch(url, { ...bounds, redirects, headers, ...(signal && { signal }) })
  const { status, body } = response
  checkAvailable(response, { problem: `${subject} was answered`, url: response.url }, now())
  if (status !== 200) throw refuseAgent(`${subject} was answered with ${formatStatus(response.url, response)}`)
  return readPeerObject(body, subject)
}

/** Checks the status of a response. @throws Unavailable if a retry may get another status */
export function checkAvailable(
  response: HttpResponseStatus,
  { problem, url }: { readonly problem: string; readonly url: string },
  now: number,
): void {
  const { status, headers } = response
  if (status !== 429 && status < 500) return
  const retryAfter = parseRetryAfter(headers.get('retry-after'), now)
  throw new Unavailable(`Cannot call agent: ${problem} with ${formatStatus(url, response)}`, { retryAfter, status })
}

/** Parses a JSON object from a peer. `subject` names the object in the error. @throws Undeliverable */
export function readPeerObject(bytes: Uint8Array, subject: string): Readonly<Record<string, unknown>> {
  const document = readJson(bytes, subject)
  if (!isJsonObject(document)) throw refuseAgent(`${subject} is not an object`)
  return document
}

function readJson(bytes: Uint8Array, subject: string): unknown {
  try {
    return parseBoundedJson(bytes, { maxDepth, label: subject })
  } catch (cause) {
    throw refuseAgent(`${subject} is not valid JSON`, cause)
  }
}

/** Returns the error for an agent that the gateway does not call, because its card or its answer is invalid. */
export function refuseAgent(problem: string, cause?: unknown): Undeliverable {
  return new Undeliverable(`Cannot call agent: ${problem}`, { cause })
}

/** Returns the error for an answer that breaks the protocol: A2A's InvalidAgentResponse (-32006). */
export function refuseAnswer(problem: string, cause?: unknown): Undeliverable {
  return refuseAgent(`its answer is not valid (${problem})`, cause)
}

/** The error for an answer, or for one event of a stream, that cannot be read. The task itself may be valid. */
export class UnreadableAnswer extends Undeliverable {
  constructor(problem: string, cause?: unknown) {
    super(`Cannot call agent: its answer is not valid (${problem})`, { cause })
  }
}

/** The error for an agent that did not accept the call. `wireCode` is the code of JSON-RPC or the HTTP status. */
export class ErrorAnswer extends Undeliverable {
  readonly wireCode: unknown

  constructor(wireCode: unknown, statusText: string) {
    super(`Cannot call agent: it answered with ${statusText}`)
    this.wireCode = wireCode
  }
}

/**
 * Creates the deadline of a whole call. `signal` aborts when the time is up, or with the caller's reason. `clear` releases the timer.
 * `AbortSignal.timeout` would keep the call in memory until then, even after the call ends.
 */
export function openCallDeadline(
  timeoutMs: number,
  callerSignal: AbortSignal | undefined,
  { sleep }: Pick<System, 'sleep'>,
) {
  const timeout = new AbortController()
  const completion = new AbortController()
  void sleep(timeoutMs, completion.signal).then(() => {
    if (!completion.signal.aborted) timeout.abort(new Unavailable('Cannot call agent: it did not answer in time'))
  })
  return {
    signal: callerSignal ? AbortSignal.any([callerSignal, timeout.signal]) : timeout.signal,
    clear: () => completion.abort(),
  }
}
