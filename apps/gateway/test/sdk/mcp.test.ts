import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { StartedGateway } from '../../src/testing/index.ts'
import { startGateway } from '../../src/testing/index.ts'

// The official client, and the program as a coding agent starts it: it knows the address and the token, and has no configuration.

const program = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))
const elsewhere = mkdtempSync(join(tmpdir(), 'postern-mcp-'))
let gateway: StartedGateway
let client: Client

async function connect(url: string): Promise<Client> {
  const connecting = new Client({ name: 'coding-agent', version: '1.0.0' })
  const env = { PATH: process.env.PATH ?? '', POSTERN_URL: url, POSTERN_OPERATOR_TOKEN: gateway.token }
  const transport = new StdioClientTransport({ command: process.execPath, args: [program, 'mcp'], cwd: elsewhere, env })
  await connecting.connect(transport, { timeout: 60_000 })
  return connecting
}

beforeAll(async () => {
  const agents = { echo: { use: 'builtin:echo' }, closed: { use: 'builtin:echo', allow: [] } } as const
  gateway = await startGateway({ folder: elsewhere, settings: { agents }, log: 'silent' })
  client = await connect(gateway.url)
}, 60_000)
afterAll(async () => {
  await client?.close()
  await gateway?.stop()
  rmSync(elsewhere, { recursive: true, force: true })
})

async function call(name: string, given: object = {}, by = client): Promise<CallToolResult> {
  return (await by.callTool({ name, arguments: { ...given } })) as CallToolResult
}

function textOf({ content }: CallToolResult): string {
  const [first] = content
  return first?.type === 'text' ? first.text : ''
}

/** What the tool answers, as JSON. */
async function ask(name: string, given: object = {}) {
  const answer = await call(name, given)
  expect(answer.isError, textOf(answer)).not.toBe(true)
  return JSON.parse(textOf(answer))
}

test('every tool says what it does and what it takes', async () => {
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['list_messages', 'show_message', 'why', 'list_refusals', 'list_deliveries', 'run_doctor']),
  )
  for (const { description, inputSchema } of tools) {
    expect(description).toMatch(/^[A-Z].*\.$/)
    expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
  }
  const send = tools.find(({ name }) => name === 'send_test_message')
  expect(send).toMatchObject({
    annotations: { readOnlyHint: false },
    inputSchema: { required: expect.arrayContaining(['via', 'to', 'text']) },
  })
})

test('the server lists and shows a sent message, and why names its outcome', { timeout: 60_000 }, async () => {
  const sent = await ask('send_test_message', { via: 'email', to: 'echo', text: 'hello by mail' })
  expect(sent.reply.text).toContain('hello by mail')
  // The answer may be read before the gateway has settled its delivery.
  const items = await vi.waitFor(
    async () => {
      const page = await ask('list_messages', { limit: 1 })
      expect(page.items).toMatchObject([{ via: 'email', state: 'answered' }])
      return page.items
    },
    { timeout: 20_000 },
  )
  const id = String(items[0].id)
  expect(JSON.stringify(await ask('show_message', { id }))).toContain('hello by mail')
  const { explanations } = await ask('why', { id })
  expect(explanations[0]).toMatchObject({ kind: 'message', agent: 'echo' })
  await vi.waitFor(async () => expect((await ask('replay_message', { id })).outcome).toBe('same'), { timeout: 20_000 })
  expect((await ask('list_deliveries')).items.length).toBeGreaterThan(0)
})

test('the server lists refused traffic with its reason', async () => {
  const { expected } = await ask('send_test_message', {
    ...{ via: 'activitypub', to: 'echo', text: 'hello', fault: 'forged' },
  })
  expect(expected.outcome).toBe('refused')
  expect((await ask('list_refusals')).items[0]).toMatchObject({ via: 'activitypub' })
})

test('the doctor and the status come as the API has them', async () => {
  expect(await ask('run_doctor')).toMatchObject({ gateway: 'running', findings: expect.any(Array) })
  expect(await ask('status')).toMatchObject({ dev: true, agents: 2 })
})

test.each([
  ['list_messages', { limit: 0 }, /^Cannot list messages: limit: .*>=1/],
  ['list_messages', { colour: 'red' }, /^Cannot list messages: .*"colour"/],
  ['show_message', {}, /^Cannot show message: id: /],
  ['show_message', { id: '999' }, /^Cannot show message: there is none/],
  ['nothing', {}, /there is no such tool/],
])('%s with %j fails in words that say what is wrong', async (name, given, words) => {
  const answer = await call(name, given)
  expect(answer.isError).toBe(true)
  expect(textOf(answer)).toMatch(words)
})

test('a gateway that does not answer is an answer of the tool, and the server goes on', async () => {
  const lost = await connect('http://127.0.0.1:9')
  for (const _ of [1, 2]) expect(textOf(await call('status', {}, lost))).toContain('127.0.0.1:9')
  await lost.close()
})
