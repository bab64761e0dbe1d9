// Sends one operation to another agent and reads its result or its stream.
import type { HttpResponseStatus } from '@postern/http'
import { formatStatus, parseMediaType } from '@postern/http'
import type { FetchRequest, System } from '@postern/message'
import { Undeliverable } from '@postern/message'
import type { AgentInterface, ClientOperation } from './bindings.ts'
import { wireBindings } from './bindings.ts'
import {
  checkAvailable,
  ErrorAnswer,
  readPeerObject,
  refuseAgent,
  refuseAnswer,
  UnreadableAnswer,
} from './fetch-document.ts'

/** Returns the headers that authenticate the call, or none if the card requires none. */
export type CredentialSource = () => Promise<Readonly<Record<string, string>>>

export interface ExchangeDeps {
  readonly agentInterface: AgentInterface
  readonly credentials: CredentialSource
  readonly system: Pick<System, 'fetch' | 'openStream' | 'now'>
  /** The trace context of the calling turn. */
  readonly traceparent?: string | undefined
  readonly signal: AbortSignal
  readonly maxBytes: number
  /** The longest time of one unary exchange, ms. */
  readonly timeoutMs: number
}

type Params = Readonly<Record<string, unknown>>

/** Runs one operation and returns its one result. @throws Unavailable, Undeliverable */
export async function exchangeUnary(operation: ClientOperation, params: Params, deps: ExchangeDeps): Promise<unknown> {
  const { system, signal, maxBytes, timeoutMs } = deps
  const { url, request } = await createRequest(operation, params, deps, acceptJson)
  const response = await system.fetch(url, { ...request, redirects: 0, signal, maxBytes, timeoutMs })
  checkStatus(response, url, system.now())
  return wireBindings[deps.agentInterface.binding].readResult(readPeerObject(response.body, 'its answer'), operation)
}

/**
 * Runs one operation and yields each result as it arrives. The agent may answer with one document instead of a stream.
 * @throws Unavailable, Undeliverable
 */
export async function* exchangeStream(
  operation: ClientOperation,
  params: Params,
  deps: ExchangeDeps,
): AsyncGenerator<unknown, void, undefined> {
  const { system, signal, maxBytes } = deps
  const { readResult } = wireBindings[deps.agentInterface.binding]
  const { url, request } = await createRequest(operation, params, deps, acceptStream)
  const { openStream } = system
  if (!openStream) throw refuseAgent('the runtime cannot stream')
  const response = await openStream(url, { ...request, signal, maxBytes })
  if (parseMediaType(response.headers.get('content-type'))?.type === 'text/event-stream' && response.status === 200) {
    for await (const data of readSseEvents(response.body)) yield readResult(readEventObject(data), operation)
    return
  }
  const body = await collectBytes(response.body)
  checkStatus(response, url, system.now())
  yield readResult(readPeerObject(body, 'its answer'), operation)
}

function readEventObject(data: string): Readonly<Record<string, unknown>> {
  try {
    return readPeerObject(Buffer.from(data), 'an event')
  } catch (cause) {
    throw new UnreadableAnswer('an event is not valid JSON', cause)
  }
}

const acceptJson = 'application/json, application/a2a+json'
const acceptStream = 'text/event-stream'

async function createRequest(
  operation: ClientOperation,
  params: Params,
  { agentInterface, credentials, traceparent }: ExchangeDeps,
  accept: string,
) {
  const { version, formatRequest: describe } = wireBindings[agentInterface.binding]
  const { method, url, body } = describe(operation, params, agentInterface)
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

/** Checks the status of a response. It ignores challenges, because only our configuration decides which token is sent where (RFC 8707 §3). */
function checkStatus(response: HttpResponseStatus, url: string, now: number): void {
  const { status } = response
  if (status === 200) return
  checkAvailable(response, { problem: 'it answered', url }, now)
  if (status === 401 || status === 403) throw new CallerRefusal(`Cannot call agent: it does not let us in (${status})`)
  const statusText = formatStatus(url, response)
  throw status >= 300 && status < 400 ? refuseAnswer(`it is ${statusText}`) : new ErrorAnswer(status, statusText)
}

/** The error for an agent that rejects the call's credential, or the lack of one. */
export class CallerRefusal extends Undeliverable {}

async function collectBytes(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces)
}

const maxEventChars = 4 * 1024 * 1024

/**
 * Yields the data of each event of an event stream (WHATWG HTML §9.2.6), without comments and other fields.
 * @throws Undeliverable if one event is too large or the stream is not UTF-8
 */
async function* readSseEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  let data: string[] = []
  let size = 0
  for await (const line of readLines(body)) {
    if (line === '') {
      if (data.length > 0) yield data.join('\n')
      data = []
      size = 0
      continue
    }
    const value = readData(line)
    if (value === undefined) continue
    size += value.length
    if (size > maxEventChars) throw refuseAnswer('an event is too large')
    data.push(value)
  }
}

function readData(line: string): string | undefined {
  if (line === 'data') return ''
  return line.startsWith('data:') ? line.slice(line.startsWith('data: ') ? 6 : 5) : undefined
}

/** Yields the lines of a stream. Lines end with CR LF, LF or CR. A CR at the end of a chunk may be half of a CR LF. */
async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let linePieces: string[] = []
  let pendingChars = 0
  let endedByCr = false
  for await (const bytes of body) {
    let text = decode(decoder, bytes)
    if (text === '') continue
    if (endedByCr && text.startsWith('\n')) text = text.slice(1)
    endedByCr = text.endsWith('\r')
    const [firstLine = '', ...lines] = text.split(/\r\n|\n|\r/)
    linePieces.push(firstLine)
    pendingChars += firstLine.length
    if (pendingChars > maxEventChars) throw refuseAnswer('an event is too large')
    if (lines.length === 0) continue
    yield linePieces.join('')
    const lastLine = lines.pop() ?? ''
    yield* lines
    linePieces = [lastLine]
    pendingChars = lastLine.length
  }
}

function decode(decoder: TextDecoder, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: true })
  } catch (cause) {
    throw refuseAnswer('it is not UTF-8', cause)
  }
}
