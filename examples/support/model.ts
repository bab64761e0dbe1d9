// Runs a scripted model for tests and trials. It chooses a tool by the words of a question, and repeats the tool's result.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

interface Question {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
}

/** The tools, and the patterns that call them. The names of the groups are those of the arguments. */
const tools = {
  refund: /refund order (?<order>\d+) by (?<amount>[\d.]+)/i,
  receipt: /receipt of order (?<order>\d+)/i,
  order_status: /order (?<order>\d+)/i,
  repairs: /bicycle|repair/i,
}

/** Listens on a port of 127.0.0.1; 0 chooses a free one. Resolves to `base_url`. */
export async function startModel(port: number) {
  const server = createServer(async (request, response) => {
    const message = answer((await json(request)) as Question)
    const body = { choices: [{ index: 0, message, finish_reason: message.tool_calls ? 'tool_calls' : 'stop' }] }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, close: () => server.close() }
}

function answer({ messages }: Question) {
  const { role, content } = messages.at(-1) ?? {}
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  if (role === 'tool') return { role: 'assistant', content: text }
  for (const [name, words] of Object.entries(tools)) {
    const match = words.exec(text)
    if (!match) continue
    const values = Object.fromEntries(Object.entries(match.groups ?? {}).map(([key, value]) => [key, Number(value)]))
    const call = { id: crypto.randomUUID(), type: 'function', function: { name, arguments: JSON.stringify(values) } }
    return { role: 'assistant', content: null, tool_calls: [call] }
  }
  return { role: 'assistant', content: 'Ask me about an order or a repair.' }
}

if (import.meta.main) process.stdout.write(`A model listens at ${(await startModel(11434)).url}\n`)
