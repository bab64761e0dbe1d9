import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway, uniqueName } from '../setup/web-gateway.ts'

// A surrogate without its other half is not valid text: strict readers close the connection when they meet one (RFC 8259 §8.2).

const apiKey = 'the-key-of-the-tests'
const escapedSurrogate = /\\u[dD][89a-fA-F]/
let web: WebGateway

beforeAll(async () => {
  const api_keys = [{ name: 'tester', sha256: createHash('sha256').update(apiKey).digest('hex') }]
  web = await openWebGateway(
    {},
    {
      agents: { halver: { use: '../agents/reporting/halver.ts' } },
      default_agent: 'halver',
      a2a: { auth: { api_keys } },
    },
  )
})
afterAll(() => web.close())

async function callA2a(method: string, text: string): Promise<string> {
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }] }
  const response = await fetch(`${web.gateway.url()}/agents/halver/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-api-key': apiKey },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { message } }),
  })
  return response.text()
}

test.each(['activitypub', 'email'] as const)('an answer by %s contains no lone surrogate', async via => {
  const { reply } = await web.gateway.simulation.send({ via, to: 'halver', text: 'whole' })
  expect(reply?.text).toContain('ok \ufffd and \ufffd done')
  expect(JSON.stringify(reply)).not.toMatch(escapedSurrogate)
})

test('an A2A task, its stream and its record contain no lone surrogate', async () => {
  const task = await callA2a('SendMessage', 'whole')
  expect(task).toContain('ok \ufffd and \ufffd done')
  const stream = await callA2a('SendStreamingMessage', 'whole')
  expect(task + stream).not.toMatch(escapedSurrogate)
  const [newest] = (await web.gateway.messages()).filter(({ via }) => via === 'a2a')
  expect(JSON.stringify(await web.gateway.readMessage(`#${newest?.message}`))).not.toMatch(escapedSurrogate)
})

test('an emoji split between two chunks of a stream is whole in A2A and in the chat', async () => {
  const stream = await callA2a('SendStreamingMessage', 'in pieces')
  expect(stream).not.toMatch(escapedSurrogate)
  expect(stream).toContain('\u{1f600} done')
  const body = { threadId: uniqueName('thread'), runId: uniqueName('run') }
  const messages = [{ id: uniqueName('msg'), role: 'user', content: 'in pieces' }]
  const text = await (await web.postRun({ ...body, messages })).text()
  expect(text).not.toMatch(escapedSurrogate)
  expect(text).toContain('\u{1f600} done')
})
