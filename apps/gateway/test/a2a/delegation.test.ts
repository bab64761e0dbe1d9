import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { exchangeFormats } from '@postern/transcript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway, operatorToken } from '../setup/gateway.ts'

// Tests that the transcript shows the work of running agents, which call each other by A2A over real sockets.

let gateway: TestGateway

/** Opens a webhook agent that answers with the JSON that the test sets, or else with nothing. */
async function openHook(): Promise<{ readonly url: string; close(): void }> {
  const server = createServer(async (request, response) => {
    const { parts } = JSON.parse(await text(request)) as { parts: readonly { content?: string }[] }
    const message = parts[0]?.content ?? ''
    response.writeHead(message.startsWith('{') ? 200 : 204).end(message.startsWith('{') ? message : undefined)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, close: () => server.close() }
}

let hook: Awaited<ReturnType<typeof openHook>>

beforeAll(async () => {
  hook = await openHook()
  const foreman = { use: '../agents/calling/foreman.ts' }
  const agents = {
    manager: foreman,
    one: foreman,
    two: foreman,
    front: { use: 'a2a', address: '@one@agents.test' },
    room: { use: 'swarm', default_agent: 'outside', members: { outside: { address: '@one@agents.test' } } },
    hook: { use: 'webhook', url: hook.url, secret: 'shared secret' },
  }
  gateway = await openTestGateway(() => ({ agents, default_agent: 'manager' }))
})
afterAll(async () => {
  await gateway.close()
  hook.close()
})

interface Row {
  readonly type: string
  readonly turn_id?: string
  readonly agent_key?: string
  readonly [member: string]: unknown
}

async function exportThread<Message = Row>(id: string, format = 'store'): Promise<readonly Message[]> {
  const query = new URLSearchParams({ format, thread: id })
  return (await gateway.requestOperator<{ messages: readonly Message[] }>(`/transcript?${query}`)).messages
}

async function importThread(id: string, format: string, messages: readonly unknown[]): Promise<unknown> {
  const query = new URLSearchParams({ format, thread: id })
  const response = await fetch(`${gateway.url()}/operator/api/transcript?${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorToken}` },
    body: JSON.stringify({ messages }),
  })
  return response.json()
}

async function work(steps: readonly unknown[], to = 'manager') {
  const result = await gateway.simulation.send({ via: 'activitypub', to, text: JSON.stringify(steps) })
  return { ...result, rows: await exportThread(result.id) }
}

const typesOf = (rows: readonly Row[]) => rows.map(({ type }) => type)

describe('a call from one agent to another (S-31)', () => {
  test('appears in the caller’s thread with its result, in one turn', async () => {
    const { rows } = await work([{ ask: '@one@agents.test', say: 'count the apples', broadcast: true }])
    const [userRow, ...laterRows] = rows
    expect(userRow?.type).toBe('user_message')
    const turn_id = userRow?.turn_id
    expect(laterRows).toMatchObject(
      [
        { type: 'delegation', worker: '@one@agents.test', task: 'count the apples', agent_key: 'manager', turn_id },
        { type: 'observation', content: '@one@agents.test has done: count the apples', agent_key: 'manager', turn_id },
        { type: 'global_observation', content: /has done/, from_worker: '@one@agents.test', turn_id },
        { type: 'assistant_message', agent_key: 'manager', turn_id },
      ].map(row => (row.content instanceof RegExp ? { ...row, content: expect.stringMatching(row.content) } : row)),
    )
    expect(turn_id).toMatch(/^store-\d+$/)
  })

  test('keeps its observation apart from those of parallel calls, in every format with call ids', async () => {
    const { id, rows } = await work([
      [
        { ask: '@one@agents.test', say: 'apples' },
        { ask: '@two@agents.test', say: 'pears' },
        { ask: '@nobody@agents.test', say: 'plums' },
      ],
    ])
    expect(typesOf(rows).slice(1, -1).toSorted()).toEqual([
      ...Array(3).fill('delegation'),
      ...Array(3).fill('observation'),
    ])
    const entries = await exportThread<{ kind: string; tool?: Record<string, unknown> }>(id, 'jsonl')
    const calls = entries.flatMap(({ kind, tool }) => (kind === 'delegation' && tool ? [tool] : []))
    const ends = calls.map(({ call_id }) =>
      entries.find(({ kind, tool }) => kind === 'tool_result' && tool?.call_id === call_id),
    )
    expect(calls.map(({ args }) => args)).toMatchObject([{ task: 'apples' }, { task: 'pears' }, { task: 'plums' }])
    expect(ends).toMatchObject([
      { tool: { success: true }, content: { parts: [{ content: '@one@agents.test has done: apples' }] } },
      { tool: { success: true }, content: { parts: [{ content: '@two@agents.test has done: pears' }] } },
      { tool: { success: false, error: { code: expect.any(String) } } },
    ])
  })

  test('to another gateway, or from a worker that it called, stays in its own caller’s thread', async () => {
    const { rows } = await work([
      { ask: '@two@agents.test', say: JSON.stringify([{ ask: '@one@agents.test', say: 'x' }]) },
    ])
    expect(rows.filter(({ type }) => type === 'delegation')).toHaveLength(1)
    const [inner] = (await gateway.messages()).filter(({ agent }) => agent === 'two')
    const calledRows = await exportThread(inner?.id ?? '')
    expect(typesOf(calledRows)).toEqual(['user_message', 'delegation', 'observation', 'assistant_message'])
    expect(calledRows[1]).toMatchObject({ worker: '@one@agents.test', task: 'x', agent_key: 'two' })
    const front = await gateway.simulation.send({ via: 'activitypub', to: 'front', text: 'hello' })
    expect(await exportThread(front.id)).toMatchObject([
      { type: 'user_message' },
      { type: 'delegation', worker: '@one@agents.test', task: expect.stringContaining('hello'), agent_key: 'front' },
      { type: 'observation', agent_key: 'front' },
      { type: 'assistant_message', agent_key: 'front' },
    ])
  })

  test('from a swarm belongs to the member that made it', async () => {
    const { id } = await gateway.simulation.send({ via: 'a2a', to: 'room', text: 'hello' })
    const rows = await exportThread(id)
    expect(rows.filter(({ type }) => type !== 'assistant_message')).toMatchObject([
      { type: 'user_message' },
      { type: 'delegation', worker: '@one@agents.test', task: 'hello', agent_key: 'outside' },
      { type: 'observation', content: '@one@agents.test has done: hello', agent_key: 'outside' },
    ])
  })

  test('has a record also when the mention in an answer causes it', async () => {
    const { id } = await gateway.simulation.send({
      via: 'a2a',
      to: 'hook',
      text: JSON.stringify({ text: 'I ask', mentions: ['@two@agents.test'] }),
    })
    const [, delegation, observation] = await exportThread(id)
    expect(delegation).toMatchObject({
      type: 'delegation',
      worker: '@two@agents.test',
      task: expect.stringContaining('I ask'),
    })
    expect(observation).toMatchObject({
      type: 'observation',
      content: expect.stringContaining('@two@agents.test has done'),
    })
  })

  test.each([...exchangeFormats])('exports as %s, and importing that again changes nothing', async format => {
    const { id } = await work([
      { note: { type: 'strategic_plan', content: { phases: ['count'] } } },
      { ask: '@one@agents.test', say: 'count', broadcast: true },
      { ask: '@nobody@agents.test', say: 'count' },
      { note: { type: 'action', tool: 'add', args: { of: [1, 2] } } },
      { note: { type: 'observation', content: { sum: 3 } } },
      { note: { type: 'synthesis', content: 'three', from_manager: 'manager', phase_id: 0 } },
    ])
    const linesBefore = await exportThread(id, 'jsonl')
    expect(linesBefore).toHaveLength(11)
    const messages = await exportThread<unknown>(id, format)
    expect(await importThread(id, format, messages)).toMatchObject({ added: 0 })
    expect(await exportThread(id, 'jsonl')).toEqual(linesBefore)
  })

  test('disappears with its message when the author deletes the post', async () => {
    const { fediverse } = gateway.simulation
    const text = `@manager@agents.test ${JSON.stringify([{ ask: '@one@agents.test', say: 'the secret word' }])}`
    const { objectId } = await fediverse.deliver({ to: '@manager@agents.test', text })
    await fediverse.awaitReply(objectId, 30_000)
    const [{ id = '' } = {}] = await gateway
      .messages()
      .then(messages => messages.filter(({ agent }) => agent === 'manager'))
    expect(JSON.stringify(await exportThread(id))).toContain('the secret word')
    await fediverse.send({ to: '@manager@agents.test', type: 'Delete', object: { id: objectId, type: 'Tombstone' } })
    const remainingRows = await exportThread(id)
    expect(typesOf(remainingRows)).not.toContain('delegation')
    expect(typesOf(remainingRows)).not.toContain('observation')
  })
})

describe('the notes of a webhook', () => {
  const sendReply = (reply: object) => gateway.simulation.send({ via: 'a2a', to: 'hook', text: JSON.stringify(reply) })

  test('stay in the thread, with or without an answer', async () => {
    const notes = [
      { type: 'action', tool: 'count', args: { what: 'words' }, step: 1 },
      { type: 'observation', content: [1, { two: 2 }] },
      { type: 'final', content: 'counted' },
    ]
    const { id } = await sendReply({ text: 'three', notes })
    const turn_id = expect.stringMatching(/^store-\d+$/)
    const storedNotes = notes.map(note => ({ ...note, agent_key: 'hook', turn_id }))
    expect((await exportThread(id)).slice(1)).toMatchObject([
      ...storedNotes,
      { type: 'assistant_message', content: 'three' },
    ])
    const silent = await sendReply({ notes })
    expect((await exportThread(silent.id)).slice(1)).toMatchObject(storedNotes)
  })

  test('fail its turn if they are invalid, and the operator sees which member is wrong', async () => {
    const { id, reply } = await sendReply({ text: 'three', notes: [{ type: 'action', tool: 'count' }] })
    expect(reply?.text).toMatch(/^Sorry, this could not be answered\./)
    expect((await gateway.readMessage(id)).error).toBe(
      'Cannot read message: args: missing, a message of type action requires it',
    )
    expect(typesOf(await exportThread(id))).toEqual(['user_message', 'assistant_message'])
  })
})

test('notes before a failure stay in the thread, followed by the failure', async () => {
  const { rows } = await work([{ note: { type: 'error', content: 'out of paper' } }, { fail: 'broken' }])
  expect(rows.map(({ type, content }) => [type, String(content).slice(0, 12)]).slice(1)).toEqual([
    ['error', 'out of paper'],
    ['assistant_message', 'Sorry, this '],
  ])
})
