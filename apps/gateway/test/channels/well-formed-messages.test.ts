import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway, uniqueName } from '../setup/web-gateway.ts'

// A strict reader rejects JSON with half of a surrogate pair (RFC 8259 §8.2): an external agent would fail, and run twice.

const apiKey = 'the-key-of-the-tests'
const halves = /\\u[dD][89a-fA-F]/
const half = '\ud83d'
let web: WebGateway
let server: Server
/** The bodies that were posted to the agent and the model, newest last. */
const receivedBodies: string[] = []

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    receivedBodies.push(Buffer.concat(chunks).toString())
    const isModel = request.url === '/v1/chat/completions'
    const reply = isModel ? { choices: [{ message: { role: 'assistant', content: 'heard' } }] } : { text: 'heard' }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const api_keys = [{ name: 'tester', sha256: createHash('sha256').update(apiKey).digest('hex') }]
  web = await openWebGateway(
    {},
    {
      agents: {
        hook: { use: 'webhook', url: `${origin}/hook`, secret: 'a secret of the hook' },
        runner: { use: 'webhook', url: `${origin}/hook`, secret: 'a secret of the hook', format: 'conversation' },
        model: { use: 'openai', base_url: `${origin}/v1`, model: 'm' },
      },
      default_agent: 'hook',
      a2a: { auth: { api_keys } },
    },
  )
})
afterAll(async () => {
  await web.close()
  server.close()
})

/** Returns the newest body that was posted to the agent or model, and expects no half of a surrogate pair in it. */
async function readPosted(text: string): Promise<string> {
  await expect.poll(() => receivedBodies.at(-1)).toContain(text)
  const body = receivedBodies.at(-1) ?? ''
  expect(body).not.toMatch(halves)
  return body
}

test.each(['hook', 'runner', 'model'])(
  'a post reaches the agent "%s" as well-formed text, together with its raw form',
  async to => {
    const message = uniqueName('post')
    const text = `${message} a ${half} b`
    const { status } = await web.gateway.simulation.fediverse.deliver({ to: `@${to}@agents.test`, text })
    expect(status).toBe(202)
    const body = await readPosted(message)
    expect(body).toContain('a \ufffd b')
    if (to === 'hook') expect(JSON.parse(body).raw.object.content).toContain('a \ufffd b')
  },
)

test('a chat run reaches the agent as well-formed text, including member names', async () => {
  const text = uniqueName('run')
  const messages = [{ id: uniqueName('msg'), role: 'user', name: `ann ${half}`, content: `${text} a ${half} b` }]
  const state = { [`name ${half}`]: [half] }
  const context = [{ description: `on ${half}`, value: half }]
  const body = { threadId: uniqueName('thread'), runId: uniqueName('run'), messages, state, context }
  const response = await web.postRun(body)
  expect(await response.text()).toContain('heard')
  expect(await readPosted(text)).toContain('a \ufffd b')
})

test('an agent gets a history of well-formed text', async () => {
  const threadId = uniqueName('thread')
  const text = uniqueName('earlier')
  await web.runChat(`${text} ${half}`, { threadId })
  await web.runChat('and now', { threadId })
  expect(await readPosted('and now')).toContain(`${text} \ufffd`)
})

async function callA2a(method: string, params: object): Promise<string> {
  const response = await fetch(`${web.gateway.url()}/agents/hook/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-api-key': apiKey },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return response.text()
}

test.each<[string, object]>([
  ['text', { parts: [{ text: half }] }],
  ['names of members', { parts: [{ data: { [half]: 1 } }] }],
  ['data', { parts: [{ data: { x: [half] } }] }],
  ['metadata', { parts: [{ text: 'x' }], metadata: { x: half } }],
])('an A2A message reaches the agent as well-formed text: %s', async (_, content) => {
  const text = uniqueName('call')
  const message = { messageId: text, role: 'ROLE_USER', ...content }
  const answer = await callA2a('SendMessage', { message })
  const { parts } = JSON.parse(await readPosted(text))
  for (const { bytes_ref } of parts) {
    expect(Buffer.from(bytes_ref?.data_base64 ?? '', 'base64').toString()).not.toMatch(halves)
  }
  const { id } = JSON.parse(answer).result.task
  expect(answer + (await callA2a('GetTask', { id, historyLength: 10 }))).not.toMatch(halves)
})

test.each([{ messageId: half }, { messageId: randomUUID(), contextId: half }])(
  'the gateway makes an A2A id well-formed text: %o',
  async ids => {
    const countBefore = receivedBodies.length
    const answer = await callA2a('SendMessage', { message: { role: 'ROLE_USER', parts: [{ text: 'x' }], ...ids } })
    expect(JSON.parse(answer).error.code).toBe(-32602)
    expect(receivedBodies).toHaveLength(countBefore)
  },
)
