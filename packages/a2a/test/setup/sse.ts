// Reads streams of server-sent events.
import { inspectAnswer } from './answers.ts'
import type { A2aPostOptions, A2aTestGateway } from './gateway.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests read what came over the wire
type Wire = any

export interface TestEvent {
  readonly id: string | undefined
  readonly data: Wire
}

/** A stream as a client reads it. */
export interface OpenEventStream {
  readonly status: number
  readonly headers: Headers
  /** Returns the next event, or undefined if the stream has ended. */
  next(): Promise<TestEvent | undefined>
  /** Returns all events to the end. */
  events(): Promise<readonly Wire[]>
  /** Returns the number of heartbeats that the server has sent. */
  beats(): number
  /** Closes the connection. */
  abort(): Promise<void>
}

export function readStream(response: Response): OpenEventStream {
  const { status, headers } = response
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  let readText = ''

  async function next(): Promise<TestEvent | undefined> {
    for (;;) {
      const index = text.indexOf('\n\n')
      if (index >= 0) {
        const block = text.slice(0, index)
        text = text.slice(index + 2)
        const event = readBlock(block)
        if (event) return event
        continue
      }
      const read = await reader?.read()
      if (!read || read.done) {
        inspectAnswer(status, headers, readText)
        return undefined
      }
      text += read.value
      readText += read.value
    }
  }

  return {
    status,
    headers,
    next,
    async events() {
      const events: Wire[] = []
      for (let event = await next(); event; event = await next()) events.push(event.data)
      return events
    },
    beats: () => readText.split('\n').filter(line => line === ':').length,
    abort: async () => reader?.cancel(),
  }
}

function readBlock(block: string): TestEvent | undefined {
  // Some clients would end a line at these characters.
  if (/[\u0085\u2028\u2029]/.test(block)) throw new Error('an event holds an end of a line of Unicode')
  const lines = block.split('\n')
  const data = lines.find(line => line.startsWith('data: '))
  if (data === undefined) return undefined
  return { id: lines.find(line => line.startsWith('id: '))?.slice(4), data: JSON.parse(data.slice(6)) }
}

export interface StreamOptions extends A2aPostOptions {
  readonly binding?: 'rpc' | 'rest' | undefined
  /** The method. Default: POST. SubscribeToTask may also be a GET over HTTP+JSON. */
  readonly verb?: 'GET' | 'POST' | undefined
}

/** Calls a streaming operation over either binding. The events have no envelope of JSON-RPC. */
export async function openStream(
  gateway: A2aTestGateway,
  method: 'SendStreamingMessage' | 'SubscribeToTask',
  params: Wire,
  { binding = 'rpc', verb = 'POST', path = '/a2a', token, headers }: StreamOptions = {},
): Promise<OpenEventStream> {
  const common = {
    'content-type': 'application/json',
    'a2a-version': '1.0',
    authorization: `Bearer ${token ?? gateway.token}`,
    ...headers,
  }
  if (binding === 'rest') {
    const at = method === 'SubscribeToTask' ? `/tasks/${params.id}:subscribe` : '/message:stream'
    const body = method === 'SubscribeToTask' ? undefined : JSON.stringify(params)
    const init = { method: verb, headers: common, ...(body && { body }) }
    return readStream(await gateway.channel.endpoint.routes.request(`${path}/rest${at}`, init))
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 'stream', method, params })
  const stream = readStream(
    await gateway.channel.endpoint.routes.request(path, { method: 'POST', headers: common, body }),
  )
  const unwrap = (event: TestEvent) => {
    if (event.data.jsonrpc !== '2.0' || event.data.id !== 'stream') throw new Error('an event is no response')
    return { ...event, data: event.data.result ?? event.data }
  }
  const next = async () => {
    const event = await stream.next()
    return event && unwrap(event)
  }
  return {
    ...stream,
    next,
    async events() {
      const events: Wire[] = []
      for (let event = await next(); event; event = await next()) events.push(event.data)
      return events
    },
  }
}
