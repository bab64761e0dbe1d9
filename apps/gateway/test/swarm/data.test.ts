import { hash } from 'node:crypto'
import { printSwarmUsage } from '@postern/operator/views'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openOperatorClient } from '../../src/running/operator-client.ts'
import { writeRunFile } from '../../src/system/run/run-file.ts'
import { describeTestConfig, operatorToken } from '../setup/gateway.ts'
import type { SwarmGateway } from '../setup/swarm-gateway.ts'
import { annsToken, call, nameOne, openSwarmChat, openSwarmGateway, replyWith } from '../setup/swarm-gateway.ts'
import { listTraces } from '../setup/traces.ts'

// These tests check that data which the tools of a swarm store is bounded, expires, and is deleted with its owner, while data of the gateway stays.

let swarm: SwarmGateway

const limits = { conversation_bytes: 2_048, shared_records: 6, shared_bytes: 4_096 }
const describePantry = (overrides: object = {}) => ({
  use: 'swarm',
  default_agent: 'keeper',
  model: { base_url: swarm.model.baseUrl, model: 'test-model' },
  members: { keeper: { prompt: 'I am keeper.', tools: '../agents/swarm/pantry.ts' } },
  states: {
    own: { default: '' },
    hours: { default: 'nine to six', shared: true },
    last_word: { default: 'none', shared: true, forgets: true },
    constructor: { default: 'plain', shared: true },
  },
  storages: { notes: {}, orders: { shared: true }, stock: { shared: true, forgets: false } },
  data_limits: limits,
  ...overrides,
})

beforeAll(async () => {
  swarm = await openSwarmGateway((_, lastText, { body }) => {
    if (body.messages.at(-1)?.role === 'tool') return replyWith(lastText)
    const [name = '', args = '{}'] = (lastText.split('\n').at(-1) ?? '').split('|')
    return call(name, JSON.parse(args) as object)
  })
  await swarm.gateway.restart({ agents: { pantry: describePantry() }, default_agent: 'pantry' })
})
afterAll(() => swarm.close())

const describeWeb = () => ({
  enabled: true,
  auth: { tokens: [{ name: 'ann', sha256: hash('sha256', annsToken) }] },
})

const { runChat, beginRun } = openSwarmChat(
  {
    get gateway() {
      return swarm.gateway
    },
  },
  'pantry',
)

/** Has the agent call a tool in a conversation, and returns the tool's result. */
async function useTool(thread: string, tool: string, args: object): Promise<string> {
  const text = await runChat(thread, `${tool}|${JSON.stringify(args)}`)
  const deltas = [...text.matchAll(/"type":"TEXT_MESSAGE_CONTENT".*?"delta":("(?:[^"\\]|\\.)*")/g)]
  return deltas.map(([, delta = '""']) => JSON.parse(delta) as string).join('')
}

async function sendMail(from: string, tool: string, args: object): Promise<string> {
  const { mail } = swarm.gateway.simulation
  const receipt = await mail.deliver({ from, to: 'pantry@agents.test', text: `${tool}|${JSON.stringify(args)}` })
  return (await mail.awaitReply(receipt.mail.messageId, 30_000)).text ?? ''
}

const requestChat = async <Answer>(path: string, method = 'GET') => {
  const response = await fetch(`${swarm.gateway.url()}${path}`, {
    method,
    headers: { authorization: `Bearer ${annsToken}` },
  })
  return (await response.json()) as Answer
}
interface Usage {
  readonly used: { readonly threads: number; readonly entries: number; readonly bytes: number }
  readonly kept: { readonly conversations: number; readonly bytes: number }
}
interface UsedQuota {
  readonly records: number
  readonly bytes: number
}
const readShared = () =>
  swarm.requestOperator<{ readonly agent: string; readonly used: UsedQuota; readonly most: UsedQuota }>(
    '/agents/pantry/swarm-usage',
  )

describe('a conversation', () => {
  test('limits its states, storages and texts, and always accepts a smaller value', async () => {
    const thread = nameOne('thread')
    const tooMuch = 'too_large: Cannot keep: the conversation would have more than 2048 bytes'
    expect(await useTool(thread, 'set_state', { name: 'own', length: 1_500 })).toBe('kept')
    expect(await useTool(thread, 'put_item', { name: 'notes', id: 'a', length: 900 })).toBe(tooMuch)
    expect(await useTool(thread, 'remember', { name: '', length: 900 })).toBe(tooMuch)
    expect(await useTool(thread, 'set_state', { name: 'own', length: 100_000 })).toBe(tooMuch)
    expect(await useTool(thread, 'tell_all', { name: 'notes' })).toBe('all:')
    expect(await useTool(thread, 'set_state', { name: 'own', length: 10 })).toBe('kept')
    expect(await useTool(thread, 'put_item', { name: 'notes', id: 'a', length: 900 })).toBe('kept')
  })

  test('counts towards the quota of its person in the chat, and loses its data when the chat ends', async () => {
    const thread = nameOne('thread')
    const usageBefore = await requestChat<Usage>('/v1/usage')
    await useTool(thread, 'put_item', { name: 'notes', id: 'a', words: 'durian', length: 100 })
    const usageAfter = await requestChat<Usage>('/v1/usage')
    expect(usageAfter.kept.conversations).toBe(usageBefore.kept.conversations + 1)
    expect(usageAfter.kept.bytes - usageBefore.kept.bytes).toBeGreaterThan(600)
    expect(usageAfter.used.bytes - usageBefore.used.bytes).toBeGreaterThan(
      usageAfter.kept.bytes - usageBefore.kept.bytes,
    )
    expect(listTraces(swarm.gateway.dataDir, 'duriandurian')).not.toEqual([])
    await requestChat(`/api/v1/agents/pantry/threads/${thread}`, 'DELETE')
    expect((await requestChat<Usage>('/v1/usage')).kept).toEqual(usageBefore.kept)
    expect(listTraces(swarm.gateway.dataDir, 'duriandurian')).toEqual([])
  })

  test('the gateway refuses further chats of a person whose data exceeds the quota', async () => {
    const { used } = await requestChat<Usage>('/v1/usage')
    const web = { ...describeWeb(), limits: { bytes_per_owner: used.bytes } }
    await swarm.gateway.restart({ web })
    const response = await beginRun(nameOne('thread'), 'tell_all|{"name":"notes"}')
    expect([response.status, await response.json()]).toMatchObject([413, { code: 'too_large' }])
    await swarm.gateway.restart({ web: describeWeb() })
  })
})

describe('data shared by all conversations', () => {
  test('has a limit in number and bytes that the operator sees, and its removal frees quota', async () => {
    const thread = nameOne('thread')
    const emptyUsage = await readShared()
    expect(emptyUsage).toEqual({ agent: 'pantry', used: { records: 0, bytes: 0 }, most: { records: 6, bytes: 4_096 } })
    expect(await useTool(thread, 'put_item', { name: 'stock', id: 'big', length: 5_000 })).toBe(
      'too_large: Cannot keep: with it there would be more than 4096 bytes',
    )
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f'])
      expect(await useTool(thread, 'put_item', { name: 'stock', id })).toBe('kept')
    expect(await useTool(thread, 'put_item', { name: 'stock', id: 'g' })).toBe(
      'too_large: Cannot keep: with it there would be more than 6 records',
    )
    expect(await useTool(thread, 'set_state', { name: 'hours', words: 'ten' })).toContain('more than 6 records')
    expect(await useTool(thread, 'put_item', { name: 'stock', id: 'a', length: 4_000 })).toContain(
      'more than 4096 bytes',
    )
    expect(await useTool(thread, 'put_item', { name: 'stock', id: 'a', length: 40 })).toBe('kept')
    expect((await readShared()).used.records).toBe(6)
    for (const id of ['b', 'c', 'd', 'e', 'f']) await useTool(thread, 'remove_item', { name: 'stock', id })
    expect(await useTool(thread, 'tell_all', { name: 'stock' })).toBe('all: a')
    expect(await useTool(thread, 'set_state', { name: 'hours', words: 'ten' })).toBe('kept')
    expect((await readShared()).used.records).toBe(2)
  })

  test('appears at a terminal too', async () => {
    const { gateway } = swarm
    writeRunFile(gateway.dataDir, { url: gateway.url(), pid: process.pid, isSimulating: false })
    const config = { ...describeTestConfig(gateway.simulation, gateway.dataDir), operator_token: operatorToken }
    const lines: string[] = []
    const openClient = () =>
      openOperatorClient({ tree: config, baseDir: gateway.dataDir, missingSettings: [], path: undefined })
    const output = { openClient, json: false, print: (text: string) => void lines.push(text) }
    await printSwarmUsage(output, { agent: 'pantry' })
    expect(lines.join('\n')).toMatch(/records +2 +6\n.*bytes +\d+ +4096/)
    await expect(swarm.requestOperator('/agents/nobody/swarm-usage')).rejects.toThrow(
      /404 .*Cannot show swarm usage: there is no agent \\"nobody\\"/,
    )
  })

  test('disappears with its conversation, chat or person, unless it belongs to the gateway', async () => {
    const [thread, otherThread] = [nameOne('thread'), nameOne('thread')]
    await useTool(thread, 'put_item', { name: 'orders', id: 'anns', words: 'quincequince' })
    await useTool(thread, 'set_state', { name: 'last_word', words: 'medlarmedlar' })
    await sendMail('bob@alice.test', 'put_item', { name: 'orders', id: 'bobs', words: 'damsondamson' })
    expect(await useTool(otherThread, 'tell_all', { name: 'orders' })).toBe('all: anns bobs')

    await requestChat(`/api/v1/agents/pantry/threads/${thread}`, 'DELETE')
    expect(await useTool(otherThread, 'tell_all', { name: 'orders' })).toBe('all: bobs')
    expect(await useTool(otherThread, 'tell_state', { name: 'last_word' })).toBe('none')
    expect(listTraces(swarm.gateway.dataDir, 'quincequince')).toEqual([])
    expect(listTraces(swarm.gateway.dataDir, 'medlarmedlar')).toEqual([])

    await swarm.requestOperator('/people/forget', { address: 'bob@alice.test' })
    expect(await useTool(otherThread, 'tell_all', { name: 'orders' })).toBe('all:')
    expect(listTraces(swarm.gateway.dataDir, 'damsondamson')).toEqual([])
    expect([
      await useTool(otherThread, 'tell_all', { name: 'stock' }),
      await useTool(otherThread, 'tell_state', { name: 'hours' }),
    ]).toEqual(['all: a', 'ten'])
    expect((await readShared()).used.records).toBe(2)
  })

  test('disappears when the operator forgets its owner', async () => {
    await useTool(nameOne('thread'), 'put_item', { name: 'orders', id: 'anns', words: 'sloesloe' })
    await swarm.requestOperator('/owners/forget', { owner: `web:${JSON.stringify(['https://agents.test', 'ann'])}` })
    expect(listTraces(swarm.gateway.dataDir, 'sloesloe')).toEqual([])
    expect((await requestChat<Usage>('/v1/usage')).kept).toEqual({ conversations: 0, bytes: 0 })
  })

  test('expires when nobody has written to it for its retention time', async () => {
    const storages = { orders: { shared: true, keep_days: 1 / 86_400 }, stock: { shared: true, forgets: false } }
    await swarm.gateway.restart({ agents: { pantry: describePantry({ storages }) } })
    const thread = nameOne('thread')
    await useTool(thread, 'put_item', { name: 'orders', id: 'soon gone' })
    await expect.poll(() => useTool(thread, 'tell_all', { name: 'orders' }), { timeout: 20_000 }).toBe('all:')
    expect(await useTool(thread, 'tell_all', { name: 'stock' })).toBe('all: a')
    await useTool(thread, 'put_item', { name: 'stock', id: 'b' })
    expect((await readShared()).used.records).toBe(3)
  })

  test('may have names such as `constructor`, in states and items', async () => {
    await swarm.gateway.restart({ agents: { pantry: describePantry() } })
    const thread = nameOne('thread')
    expect(await useTool(thread, 'tell_state', { name: 'constructor' })).toBe('plain')
    expect(await useTool(thread, 'set_state', { name: 'constructor', words: 'set' })).toBe('kept')
    expect(await useTool(thread, 'put_item', { name: 'stock', id: '__proto__' })).toBe('kept')
    expect(await useTool(nameOne('thread'), 'tell_all', { name: 'stock' })).toContain('__proto__')
    expect(await useTool(thread, 'tell_all', { name: 'toString' })).not.toContain('function')
  })

  test('keeps every one of many simultaneous writes within the limit', async () => {
    const recordsBefore = (await readShared()).used.records
    const data_limits = { ...limits, shared_records: recordsBefore + 3 }
    await swarm.gateway.restart({ agents: { pantry: describePantry({ data_limits }) } })
    const putItem = (number: number) => useTool(nameOne('thread'), 'put_item', { name: 'stock', id: `many ${number}` })
    const texts = await Promise.all(Array.from({ length: 8 }, (_, index) => putItem(index)))
    expect(texts.filter(outcome => outcome === 'kept')).toHaveLength(3)
    expect(texts.filter(outcome => outcome.startsWith('too_large'))).toHaveLength(5)
    expect((await readShared()).used.records).toBe(recordsBefore + 3)
  })
})
