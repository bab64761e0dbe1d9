// Runs a model server for the Python examples.
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

/** The texts of a client, in whichever of the two APIs it uses. */
interface ClientInput {
  /** The person's texts, oldest first. */
  readonly texts: readonly string[]
  /** The result of the last tool call; undefined if a text followed it. */
  readonly result: string | undefined
}

/** The call of a tool, or a text. */
type Reply = { readonly city: string } | { readonly text: string }

export interface ExampleModel {
  /** The base URL, which ends with `/v1`. */
  readonly url: string
  /** The number of messages in each call, oldest call first. */
  readonly counts: readonly number[]
  close(): void
}

/**
 * Opens a model on loopback that supports OpenAI's two wire formats, Chat Completions and Responses, streamed or not. It calls the tool
 * `weather` for the city after `in`, and repeats the tool's result. It repeats any other text, with the number of texts before it.
 */
export async function openExampleModel(): Promise<ExampleModel> {
  const counts: number[] = []
  const server = createServer(async (request, response) => {
    const api = request.url === '/v1/responses' ? responsesApi : completionsApi
    const body = (await json(request)) as Body
    counts.push((body.messages ?? body.input ?? []).length)
    const reply = decide(api.read(body))
    if (body.stream) writeStream(response, api.stream(reply))
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(api.answer(reply)))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    counts,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

interface Body {
  readonly stream?: boolean
  readonly messages?: readonly Item[]
  readonly input?: readonly Item[]
}

interface Item {
  readonly role?: string
  readonly type?: string
  readonly content?: string | readonly { readonly text?: string }[]
  readonly output?: unknown
}

interface Api {
  read(body: Body): ClientInput
  answer(reply: Reply): object
  /** Returns the data of its events. */
  stream(reply: Reply): readonly (object | string)[]
}

function decide({ texts, result }: ClientInput): Reply {
  if (result !== undefined) return { text: `The tool says ${result}` }
  const text = texts.at(-1) ?? ''
  const [, city] = /\bin (\p{Lu}\w+)/u.exec(text) ?? []
  return city === undefined ? { text: `You said "${text}" after ${texts.length - 1} others` } : { city }
}

function textOf({ content = '' }: Item): string {
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('')
}

const listTexts = (items: readonly Item[]) => items.filter(({ role }) => role === 'user').map(textOf)

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const commonMembers = { model: 'example', created: 1_790_000_000 }

const completionsApi: Api = {
  read({ messages = [] }) {
    const lastMessage = messages.at(-1)
    return { texts: listTexts(messages), result: lastMessage?.role === 'tool' ? textOf(lastMessage) : undefined }
  },
  answer(reply) {
    const finish_reason = 'text' in reply ? 'stop' : 'tool_calls'
    const message = { role: 'assistant', ...writeMessage(reply) }
    const choices = [{ index: 0, message, finish_reason, logprobs: null }]
    return { id: 'chatcmpl-1', object: 'chat.completion', ...commonMembers, choices, usage }
  },
  stream(reply) {
    const chunk = (delta: object, finish_reason: string | null) => ({
      ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', ...commonMembers },
      choices: [{ index: 0, delta, finish_reason }],
    })
    const deltas = 'text' in reply ? splitText(reply.text).map(content => ({ content })) : [writeMessage(reply, 0)]
    const chunks = [{ role: 'assistant', content: null }, ...deltas].map(delta => chunk(delta, null))
    return [...chunks, chunk({}, 'text' in reply ? 'stop' : 'tool_calls'), '[DONE]']
  },
}

function writeMessage(reply: Reply, index?: number): object {
  if ('text' in reply) return { content: reply.text }
  const toolCall = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: JSON.stringify(reply) } }
  return { content: null, tool_calls: [index === undefined ? toolCall : { index, ...toolCall }] }
}

const responsesApi: Api = {
  read({ input = [] }) {
    const lastInput = input.at(-1)
    const isResult = lastInput?.type === 'function_call_output'
    const result = typeof lastInput?.output === 'string' ? lastInput.output : JSON.stringify(lastInput?.output)
    return { texts: listTexts(input), result: isResult ? result : undefined }
  },
  answer: reply => describeResponse('completed', [writeItem(reply, 'completed')]),
  stream(reply) {
    const outputItem = { output_index: 0, item_id: 'item_1' }
    const item = writeItem(reply, 'completed')
    const events = [
      { type: 'response.created', response: describeResponse('in_progress', []) },
      { type: 'response.output_item.added', output_index: 0, item: writeItem(toEmptyReply(reply), 'in_progress') },
      ...writeDeltas(reply, outputItem),
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: describeResponse('completed', [item]) },
    ]
    return events.map((event, sequence_number) => ({ ...event, sequence_number }))
  },
}

const toEmptyReply = (reply: Reply): Reply => ('text' in reply ? { text: '' } : reply)

function writeDeltas(reply: Reply, outputItem: object): readonly { readonly type: string }[] {
  if (!('text' in reply)) {
    const delta = JSON.stringify(reply)
    return [
      { type: 'response.function_call_arguments.delta', ...outputItem, delta } as { type: string },
      { type: 'response.function_call_arguments.done', ...outputItem, arguments: delta } as { type: string },
    ]
  }
  const position = { ...outputItem, content_index: 0 }
  const deltas = splitText(reply.text).map(delta => ({
    type: 'response.output_text.delta',
    ...position,
    delta,
    logprobs: [],
  }))
  const [emptyPart, fullPart] = ['', reply.text].map(text => ({
    type: 'output_text',
    text,
    annotations: [],
    logprobs: [],
  }))
  return [
    { type: 'response.content_part.added', ...position, part: emptyPart } as { type: string },
    ...deltas,
    { type: 'response.output_text.done', ...position, text: reply.text, logprobs: [] } as { type: string },
    { type: 'response.content_part.done', ...position, part: fullPart } as { type: string },
  ]
}

function writeItem(reply: Reply, status: string): object {
  if (!('text' in reply)) {
    const calledFunction = {
      call_id: 'call_1',
      name: 'weather',
      arguments: status === 'completed' ? JSON.stringify(reply) : '',
    }
    return { id: 'item_1', type: 'function_call', status, ...calledFunction }
  }
  const content = reply.text === '' ? [] : [{ type: 'output_text', text: reply.text, annotations: [], logprobs: [] }]
  return { id: 'item_1', type: 'message', role: 'assistant', status, content }
}

function describeResponse(status: string, output: readonly object[]): object {
  const { model, created: created_at } = commonMembers
  const details = { input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } }
  return {
    ...{ id: 'resp_1', object: 'response', created_at, model, status, output },
    ...{ error: null, incomplete_details: null, instructions: null, metadata: {}, tools: [] },
    ...{ parallel_tool_calls: true, temperature: 1, top_p: 1, tool_choice: 'auto' },
    usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15, ...details },
  }
}

/** Splits a text into chunks, like a model that streams. */
function splitText(text: string): readonly string[] {
  return text.match(/.{1,8}/gsu) ?? []
}

function writeStream(response: ServerResponse, events: readonly (object | string)[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of events) {
    if (typeof event === 'string') response.write(`data: ${event}\n\n`)
    else {
      const name = 'type' in event ? `event: ${event.type}\n` : ''
      response.write(`${name}data: ${JSON.stringify(event)}\n\n`)
    }
  }
  response.end()
}
