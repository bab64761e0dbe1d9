// Runs a server of the OpenAI protocol on loopback, and records its requests.
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

interface ModelRequest {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  /** The body of the request, as received. */
  readonly text: string
  readonly body: {
    readonly model: string
    readonly stream: boolean
    readonly messages: readonly {
      readonly role: string
      readonly content: unknown
      readonly tool_calls?: readonly { readonly id: string }[]
      readonly tool_call_id?: string
    }[]
    readonly tools?: readonly unknown[]
    readonly tool_choice?: string
    readonly [member: string]: unknown
  }
}

export interface ModelReply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** The whole answer. A value other than text is sent as JSON. */
  readonly body?: unknown
  /** The chunks of a stream, which are written one after the other. */
  readonly pieces?: readonly (string | Uint8Array)[]
  /** True to write nothing after the pieces and to leave the answer open. */
  readonly hangs?: boolean
  /** True to break off the connection after the pieces. */
  readonly breaks?: boolean
}

export type Complete = (request: ModelRequest, index: number) => ModelReply | Promise<ModelReply>

export interface ModelServer {
  /** The address of the endpoint, with its `/v1`. */
  readonly baseUrl: string
  readonly requests: readonly ModelRequest[]
  /** Resolves when an answer closes, such as when the client abandons one that has no end. */
  readonly clientLeft: Promise<void>
  close(): Promise<void>
}

/** Opens an endpoint of chat completions on loopback that answers from a script. */
export async function openModelServer(complete: Complete): Promise<ModelServer> {
  const requests: ModelRequest[] = []
  const { promise: clientLeft, resolve: leave } = Promise.withResolvers<void>()
  const server = createServer(async (request, response) => {
    response.once('close', leave)
    const text = await readText(request)
    const modelRequest = { path: request.url ?? '', headers: request.headers, text, body: JSON.parse(text) }
    requests.push(modelRequest)
    writeReply(response, await complete(modelRequest, requests.length - 1))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    clientLeft,
    close() {
      server.closeAllConnections()
      return new Promise(resolve => server.close(() => resolve()))
    },
  }
}

function writeReply(
  response: ServerResponse,
  { status = 200, headers, body, pieces, hangs, breaks }: ModelReply,
): void {
  const type = body === undefined ? 'text/event-stream' : 'application/json'
  response.writeHead(status, { 'content-type': type, ...headers })
  response.flushHeaders()
  for (const piece of pieces ?? []) response.write(piece)
  if (breaks) setImmediate(() => response.destroy())
  else if (!hangs) response.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body))
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(chunk as Uint8Array)
  return Buffer.concat(chunks).toString('utf8')
}

/** Reads a recorded stream, `fixtures/openai/<name>.sse`. */
export function readRecording(name: string): Buffer {
  return readFileSync(new URL(`../../../fixtures/openai/${name}.sse`, import.meta.url))
}

/** Makes a stream of the deltas of one answer, with its end. */
export function streamOf(deltas: readonly object[], finish = 'stop'): ModelReply {
  const last = { choices: [{ index: 0, delta: {}, finish_reason: finish }] }
  const chunks = [...deltas.map(delta => ({ choices: [{ index: 0, delta, finish_reason: null }] })), last]
  return { pieces: [...chunks.map(chunk => `data: ${JSON.stringify(chunk)}\n\n`), 'data: [DONE]\n\n'] }
}

export function replyWith(content: string): ModelReply {
  return streamOf([{ role: 'assistant', content: '' }, { content }])
}

export function respondWithToolCall(name: string, args: unknown, id = 'call_1'): ModelReply {
  const called = { index: 0, id, type: 'function', function: { name, arguments: JSON.stringify(args) } }
  return streamOf([{ role: 'assistant', content: null, tool_calls: [called] }], 'tool_calls')
}
