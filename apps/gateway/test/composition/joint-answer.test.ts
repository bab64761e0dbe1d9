import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Gateways } from './gateways.ts'
import { openGateways } from './gateways.ts'

const [convener, courier] = [{ use: '../agents/calling/convener.ts' }, { use: '../agents/calling/courier.ts' }]
let gateways: Gateways

beforeAll(async () => {
  gateways = await openGateways({
    'a.test': {
      agents: {
        host: convener,
        near: courier,
        third: convener,
        stream: { use: '../agents/calling/streaming-convener.ts' },
        stuck: { use: '../agents/waiting/hanging.ts', deadline: '30s' },
      },
      limits: { loop: { mention_seconds: 10 } },
    },
    'b.test': { agents: { far: courier, host: convener } },
  })
})
afterAll(() => gateways.close())

const streamedAt = (person: string, hop: number) => `${person} heard host@a.test by a2a at hop ${hop} of 5`

test('over A2A the gateway calls each mentioned agent, local or remote, and its joint answer names unreachable ones (MN-8.1 none)', async () => {
  const parts = await gateways.askAgent(
    'a.test',
    'host',
    'What do @near@a.test and @down@a.test and @far@b.test and @gone@nowhere.test think?',
  )
  expect(parts).toEqual([
    'Let me ask around.',
    '@near@a.test:',
    streamedAt('near@a.test', 1),
    '@down@a.test was not reachable.',
    '@far@b.test:',
    streamedAt('far@b.test', 1),
    '@gone@nowhere.test was not reachable.',
  ])
  const [question] = await gateways.records('b.test', 'far')
  expect(question?.message.sender).toMatchObject({ address: '@host@a.test', auth_method: 'a2a-jwt', verified: true })
  expect(question?.message.parts.map(part => part.kind === 'text' && part.content).join('\n')).toMatch(
    /^@tester~[0-9a-f]{12}@a\.test:\nWhat do .* think\?\n@host@a\.test:\nLet me ask around\.$/,
  )
})

test('the joint answer reports a slow agent as unreachable without waiting for it (MN-8.1 none)', async () => {
  expect(await gateways.askAgent('a.test', 'host', 'And @stuck@a.test or @near@a.test?')).toEqual([
    'Let me ask around.',
    '@stuck@a.test was not reachable.',
    '@near@a.test:',
    streamedAt('near@a.test', 1),
  ])
}, 60_000)

test('the joint answer on the final hop says that it asked nobody (MN-8.3)', async () => {
  const metadata = { mentionable: { agent_chain: { hop: 5, max_hops: 9 } } }
  expect(await gateways.askAgent('a.test', 'host', 'Ask @near@a.test.', { metadata })).toEqual([
    'Let me ask around.',
    '@near@a.test was not asked: this was the final hop of the chain.',
  ])
})

test('the gateway refuses a chain that is too long (MN-8.3)', async () => {
  const metadata = { mentionable: { agent_chain: { hop: 6, max_hops: 9 } } }
  await expect(gateways.askAgent('a.test', 'near', 'Hello', { metadata })).rejects.toThrow()
  expect(await gateways.records('a.test', 'near')).toHaveLength(2)
})

test('joint answers of conveners that mention each other stop at the hop limit', async () => {
  const text = 'Ask @host@b.test and @third@a.test and @host@a.test.'
  const parts = await gateways.askAgent('a.test', 'host', text)
  expect(parts[0]).toBe('Let me ask around.')
  expect(parts.join('\n')).toContain('was not asked: this was the final hop of the chain.')
  const turns = [
    ...(await gateways.records('a.test', 'host')),
    ...(await gateways.records('a.test', 'third')),
    ...(await gateways.records('b.test', 'host')),
  ]
  expect(Math.max(...turns.map(({ message }) => message.recipient_capabilities.agent_chain?.hop ?? 0))).toBe(5)
})

test('a listener of a streamed answer also receives the other local agents’ text, as in the task', async () => {
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'Ask @near@a.test.' }] }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } })
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-api-key': 'the-key-of-the-tests' }
  const response = await fetch(`${gateways.url('a.test')}/agents/stream/a2a`, { method: 'POST', headers, body })
  const events = [...(await response.text()).matchAll(/^data: ?(.*)$/gm)].map(
    ([, data = '']) => JSON.parse(data).result,
  )
  const pieces = events.flatMap(({ artifactUpdate }) => artifactUpdate?.artifact.parts ?? []).map(({ text }) => text)
  const fanout = ['@near@a.test:', 'near@a.test heard stream@a.test by a2a at hop 1 of 5']
  expect(pieces.filter(Boolean)).toEqual(['Let me ', 'ask around.', ...fanout])
  const { taskId, status } = events.at(-1).statusUpdate
  expect(status).toEqual({ state: 'TASK_STATE_COMPLETED', timestamp: expect.any(String) })
  const getTaskBody = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'GetTask', params: { id: taskId } })
  const task = await fetch(`${gateways.url('a.test')}/agents/stream/a2a`, {
    method: 'POST',
    headers,
    body: getTaskBody,
  })
  const { artifacts } = (await task.json()).result
  expect(artifacts[0].parts.map(({ text }: { text: string }) => text)).toEqual(['Let me ask around.', ...fanout])
})
