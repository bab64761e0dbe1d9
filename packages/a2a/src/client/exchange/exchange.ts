import type { FetchRequest, Platform } from '@postern/core'
import { Unavailable, Undeliverable } from '@postern/core'
import { parseMediaType, parseRetryAfter } from '@postern/http'
import type { AgentInterface } from './agent-interface.ts'
import type { ClientOperation } from './binding.ts'
import { wireBindings } from './bindings.ts'
import { readPeerObject } from './fetch-document.ts'
import { ErrorAnswer, refuseAgent, refuseAnswer } from './refusals.ts'
import { readSseEvents } from './sse-events.ts'

/** Returns the headers that authenticate the call; none if the card asks for none. */
export type CredentialSource = () => Promise<Readonly<Record<string, string>>>

export interface ExchangeDeps {
  readonly to: AgentInterface
  readonly credentials: CredentialSource
  readonly platform: Pick<Platform, 'fetch' | 'openStream' | 'now'>
  /** Of the turn that calls. */
  readonly traceparent?: string | undefined
  readonly signal: AbortSignal
  readonly maxBytes: number
  /** Longest time for one unary exchange, ms. */
  readonly timeoutMs: number
}

type Params = Readonly<Record<string, unknown>>

/** One operation, one result. @throws Unavailable, Undeliverable */
export async function exchangeUnary(operation: ClientOperation, params: Params, line: ExchangeDeps): Promise<unknown> {
  const { platform, signal, maxBytes, timeoutMs } = line
  const { url, request } = await describeRequest(operation, params, line, acceptJson)
  const answer = await platform.fetch(url, { ...request, redirects: 0, signal, maxBytes, timeoutMs })
  checkStatus(answer, platform.now())
  return wireBindings[line.to.binding].readResult(readPeerObject(answer.body, 'its answer'), operation)
}

/** One operation, and each result as it comes. It also reads a whole document in place of a stream. @throws Unavailable, Undeliverable */
export async function* exchangeStream(
  operation: ClientOperation,
  params: Params,
  line: ExchangeDeps,
): AsyncGenerator<unknown, void, undefined> {
  const { platform, signal, maxBytes } = line
  const { readResult } = wireBindings[line.to.binding]
  const { url, request } = await describeRequest(operation, params, line, acceptStream)
  const { openStream } = platform
  if (!openStream) throw refuseAgent('there is no way to stream')
  const answer = await openStream(url, { ...request, signal, maxBytes })
  if (parseMediaType(answer.headers.get('content-type'))?.type === 'text/event-stream' && answer.status === 200) {
    for await (const data of readSseEvents(answer.body))
      yield readResult(readPeerObject(Buffer.from(data), 'an event'), operation)
    return
  }
  const body = await readWhole(answer.body)
  checkStatus(answer, platform.now())
  yield readResult(readPeerObject(body, 'its answer'), operation)
}

const acceptJson = 'application/json, application/a2a+json'
const acceptStream = 'text/event-stream'

async function describeRequest(
  operation: ClientOperation,
  params: Params,
  { to, credentials, traceparent }: ExchangeDeps,
  accept: string,
) {
  const { version, describe } = wireBindings[to.binding]
  const { method, url, body } = describe(operation, params, to)
  const headers = {
    accept,
    'a2a-version': version,
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(traceparent !== undefined && { traceparent }),
    ...(await credentials()),
  }
  const request: Pick<FetchRequest, 'method' | 'headers' | 'body'> = { method, headers, ...(body && { body }) }
  return { url, request }
}

interface StatusAnswer {
  readonly status: number
  readonly headers: Headers
}

/** Does not follow challenges: only our configuration decides which token goes where (RFC 8707 §3). */
function checkStatus({ status, headers }: StatusAnswer, now: number): void {
  if (status === 200) return
  if (status === 429 || status >= 500) {
    const retryAfter = parseRetryAfter(headers.get('retry-after'), now)
    throw new Unavailable(`Cannot call agent: it answered with ${status}`, {
      ...(retryAfter !== undefined && { retryAfter }),
    })
  }
  if (status === 401 || status === 403) throw new CallerRefused(`Cannot call agent: it does not let us in (${status})`)
  throw status >= 300 && status < 400 ? refuseAnswer('it leads elsewhere') : new ErrorAnswer(status, String(status))
}

/** The agent asks for a credential, or for another one. */
export class CallerRefused extends Undeliverable {}

async function readWhole(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces)
}
