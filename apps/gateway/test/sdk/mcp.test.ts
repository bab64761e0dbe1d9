import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { StartedGateway } from '../../src/testing/index.ts'
import { startGateway } from '../../src/testing/index.ts'

// These tests run `postern mcp` as a coding agent does, with an address and a token but no configuration, and call it with the official
// client.

const program = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))
const gatewayFolder = mkdtempSync(join(tmpdir(), 'postern-mcp-'))
let gateway: StartedGateway
let client: Client

function connect(url: string): Promise<Client> {
  return connectIn(gatewayFolder, { POSTERN_URL: url, POSTERN_OPERATOR_TOKEN: gateway.token })
}

async function connectIn(cwd: string, environment: Readonly<Record<string, string>> = {}): Promise<Client> {
  const newClient = new Client({ name: 'coding-agent', version: '1.0.0' })
  const env = { PATH: process.env.PATH ?? '', ...environment }
  await newClient.connect(new StdioClientTransport({ command: process.execPath, args: [program, 'mcp'], cwd, env }), {
    timeout: 60_000,
  })
  return newClient
}

beforeAll(async () => {
  const agents = { echo: { use: 'builtin:echo' }, closed: { use: 'builtin:echo', allow: [] } } as const
  gateway = await startGateway({ folder: gatewayFolder, settings: { agents }, log: 'silent' })
  client = await connect(gateway.url)
}, 60_000)
afterAll(async () => {
  await client?.close()
  await gateway?.stop()
  rmSync(gatewayFolder, { recursive: true, force: true })
})

async function callTool(name: string, input: object = {}, mcpClient = client): Promise<CallToolResult> {
  return (await mcpClient.callTool({ name, arguments: { ...input } })) as CallToolResult
}

function textOf({ content }: CallToolResult): string {
  const [first] = content
  return first?.type === 'text' ? first.text : ''
}

/** Returns the answer of the tool, as JSON. */
async function callForText(name: string, input: object = {}) {
  const answer = await callTool(name, input)
  expect(answer.isError, textOf(answer)).not.toBe(true)
  return JSON.parse(textOf(answer))
}

test('every tool describes its purpose and its input', async () => {
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['list_messages', 'show_message', 'why', 'list_refusals', 'list_deliveries', 'run_doctor']),
  )
  for (const { description, inputSchema } of tools) {
    expect(description).toMatch(/^[A-Z].*\.$/)
    expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
  }
  const annotations = Object.fromEntries(tools.map(tool => [tool.name, tool.annotations]))
  const sendsAgain = { readOnlyHint: false, destructiveHint: true, openWorldHint: true }
  expect(annotations).toMatchObject({
    replay_message: sendsAgain,
    change_delivery: sendsAgain,
    send_test_message: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    list_messages: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
    run_doctor: { readOnlyHint: true, openWorldHint: true },
  })
  for (const hints of Object.values(annotations)) {
    expect(Object.keys(hints ?? {}).toSorted()).toEqual(['destructiveHint', 'openWorldHint', 'readOnlyHint'])
  }
  const sendTool = tools.find(({ name }) => name === 'send_test_message')
  expect(sendTool).toMatchObject({
    inputSchema: {
      required: expect.arrayContaining(['via', 'to']),
      properties: { files: { items: { type: 'string' } } },
    },
  })
})

test('the operator’s model gets no invisible character of a peer', { timeout: 60_000 }, async () => {
  const text = 'Look \u{e0050}\u{e0041} \u202egpj \u001b[2J here'
  await callForText('send_test_message', { via: 'a2a', to: 'echo', text })
  const listText = textOf(await callTool('list_messages', { limit: 1 }))
  const [{ message }] = JSON.parse(listText).items
  const shownText = textOf(await callTool('show_message', { id: `#${message}` }))
  expect(listText + shownText).not.toMatch(/(?!\n)\p{Cc}|\p{Cf}/u)
  expect(shownText).toContain('\\udb40\\udc50')
})

test('the server lists and shows a sent message, and why names its outcome', { timeout: 60_000 }, async () => {
  const sendResult = await callForText('send_test_message', { via: 'email', to: 'echo', text: 'hello by mail' })
  expect(sendResult.reply.text).toContain('hello by mail')
  // The answer may be read before the gateway has settled its delivery.
  const items = await vi.waitFor(
    async () => {
      const page = await callForText('list_messages', { limit: 1 })
      expect(page.items).toMatchObject([{ via: 'email', state: 'answered' }])
      return page.items
    },
    { timeout: 20_000 },
  )
  const id = String(items[0].id)
  expect(JSON.stringify(await callForText('show_message', { id }))).toContain('hello by mail')
  const { explanations } = await callForText('why', { id })
  expect(explanations[0]).toMatchObject({ kind: 'message', agent: 'echo' })
  await vi.waitFor(async () => expect((await callForText('replay_message', { id })).outcome).toBe('same'))
  expect((await callForText('list_deliveries')).items.length).toBeGreaterThan(0)
})

test('a coding agent can send files by their paths', { timeout: 60_000 }, async () => {
  const path = join(gatewayFolder, 'plan.csv')
  writeFileSync(path, 'day,hour')
  const { reply } = await callForText('send_test_message', {
    via: 'a2a',
    to: 'echo',
    text: 'See there.',
    files: [path],
  })
  expect(reply.text).toContain('plan.csv, text/csv')
  const failedCall = await callTool('send_test_message', {
    via: 'a2a',
    to: 'echo',
    files: [join(gatewayFolder, 'none.csv')],
  })
  expect(textOf(failedCall)).toMatch(/cannot read the file ".*none\.csv": it does not exist/)
})

test('the server lists refused traffic with its reason', async () => {
  const { expected } = await callForText('send_test_message', {
    ...{ via: 'activitypub', to: 'echo', text: 'hello', fault: 'forged' },
  })
  expect(expected.outcome).toBe('refused')
  expect((await callForText('list_refusals')).items[0]).toMatchObject({ via: 'activitypub' })
})

test('the doctor and status tools return what the API returns', async () => {
  expect(await callForText('run_doctor')).toMatchObject({ gateway: 'running', findings: expect.any(Array) })
  expect(await callForText('status')).toMatchObject({ dev: true, agents: 2 })
})

test.each([
  ['list_messages', { limit: 0 }, /^Cannot list messages: "limit" \(0\) must be at least 1/],
  ['list_messages', { colour: 'red' }, /^Cannot list messages: .*"colour"/],
  ['show_message', {}, /^Cannot show message: "id" is missing/],
  ['show_message', { id: '999' }, /^Cannot show message: there is no message/],
  ['nothing', {}, /there is no such tool/],
])('%s with %j fails with an explanation', async (name, input, pattern) => {
  const answer = await callTool(name, input)
  expect(answer.isError).toBe(true)
  expect(textOf(answer)).toMatch(pattern)
})

test('a tool reports a gateway that does not answer, and the server continues', async () => {
  const lostClient = await connect('http://127.0.0.1:9')
  for (const _ of [1, 2]) expect(textOf(await callTool('status', {}, lostClient))).toContain('127.0.0.1:9')
  await lostClient.close()
})

test('tools open no agent when no gateway runs on the data', {
  timeout: 60_000,
}, async () => {
  const folder = join(gatewayFolder, 'stopped')
  const markerPath = join(folder, 'opened')
  mkdirSync(folder)
  const agent = `import { writeFileSync } from 'node:fs'
    writeFileSync(${JSON.stringify(markerPath)}, '')
    export const handle = () => 'hello'`
  writeFileSync(join(folder, 'agent.mjs'), agent)
  const config = { dev: true, origin: 'https://agents.test', data: 'data', agents: { echo: { use: './agent.mjs' } } }
  writeFileSync(join(folder, 'postern.config.json'), JSON.stringify(config))
  const stoppedClient = await connectIn(folder)
  for (const [name, args] of [
    ['status', {}],
    ['change_delivery', { id: '1', action: 'retry' }],
  ] as const)
    expect(textOf(await callTool(name, args, stoppedClient))).toMatch(/^No gateway runs here/)
  expect([existsSync(markerPath), existsSync(join(folder, 'data'))]).toEqual([false, false])
  await stoppedClient.close()
})
