import type { ModelServer } from '@postern/agents/test-model-server'
import { openModelServer } from '@postern/agents/test-model-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operatorToken } from '../setup/gateway.ts'
import { call, replyWith } from '../setup/swarm-gateway.ts'
import type { JsonAnswer, WebGateway } from '../setup/web-gateway.ts'
import { findEvent, openWebGateway } from '../setup/web-gateway.ts'

// These tests cover the four views of a message store over stored conversations, and the part of them that a chat shows.

let web: WebGateway
let model: ModelServer

beforeAll(async () => {
  model = await openModelServer(({ body: { messages } }) => {
    const { role, content } = messages.at(-1) ?? {}
    return role === 'tool' ? replyWith('It is heavy.') : call('weigh', { what: String(content).slice(-5) })
  })
  const scales = {
    use: 'openai',
    base_url: model.baseUrl,
    model: 'test-model',
    show_tools: true,
    tools: '../agents/calling/crew.ts',
  }
  const foreman = { use: '../agents/calling/foreman.ts' }
  web = await openWebGateway(
    { trace: false },
    { agents: { manager: foreman, one: foreman, scales }, default_agent: 'manager' },
  )
})
afterAll(async () => {
  await web.close()
  await model.close()
})

type Row = Readonly<Record<string, JsonAnswer>>

async function askView(view: string, query: Record<string, string>, extraQuery = ''): Promise<JsonAnswer> {
  const path = `/operator/api/transcript/views/${view}?${new URLSearchParams(query)}${extraQuery}`
  const headers = { authorization: `Bearer ${operatorToken}` }
  const response = await fetch(`${web.gateway.url()}${path}`, { headers })
  return { status: response.status, ...((await response.json()) as object) }
}

async function readView(view: string, query: Record<string, string>, extraQuery = ''): Promise<readonly Row[]> {
  return (await askView(view, query, extraQuery)).messages
}

async function newestOf(agent: string): Promise<string> {
  const message = (await web.gateway.messages()).find(message => message.agent === agent)
  return `#${message?.message}`
}

const typesOf = (rows: readonly Row[]) => rows.map(({ type }) => type)

describe('the views of a stored conversation', () => {
  test('show task, action, observation and final result of each turn of a model, in order', async () => {
    const first = await web.gateway.simulation.send({ via: 'a2a', to: 'scales', text: 'stone' })
    await web.gateway.simulation.send({ via: 'a2a', to: 'scales', text: 'brick', thread: first.thread })
    const thread = await newestOf('scales')
    const rows = await readView('agent', { thread, agent_key: 'scales' })
    expect(rows).toMatchObject([
      { type: 'task', content: 'stone' },
      { type: 'action', tool: 'weigh', args: { what: 'stone' } },
      { type: 'observation', content: { weighed: 'stone' } },
      { type: 'final', content: 'It is heavy.' },
      { type: 'task', content: 'brick' },
      { type: 'action', args: { what: 'brick' } },
      { type: 'observation' },
      { type: 'final' },
    ])
    expect(new Set(rows.slice(0, 4).map(({ turn_id }) => turn_id)).size).toBe(1)
    expect(rows[4]?.turn_id).toBe(`store-${thread.slice(1)}`)
    expect(typesOf(await readView('conversation', { thread }))).toEqual([
      'user_message',
      'assistant_message',
      'user_message',
      'assistant_message',
    ])
    expect(typesOf(await readView('agent', { thread, agent_key: 'scales', types: 'task,final', tail: '3' }))).toEqual([
      'final',
      'task',
      'final',
    ])
    expect(await readView('global', { thread })).toEqual([])
  })

  test('tell whether an agent has ended its last turn, regardless of earlier turns (S-25)', async () => {
    const readCompleteness = async (thread: string, query: object = {}) => {
      const { complete } = await askView('agent', { thread, agent_key: 'one', ...query })
      return complete
    }
    const end = { note: { type: 'final', content: 'Task completed' } }
    const first = await web.gateway.simulation.send({ via: 'a2a', to: 'one', text: JSON.stringify([end]) })
    expect(await readCompleteness(await newestOf('one'))).toBe(true)
    expect(await readCompleteness(await newestOf('one'), { types: 'task', limit: '1' })).toBe(true)

    const unfinishedStep = { note: { type: 'action', tool: 'peek', args: {} } }
    await web.gateway.simulation.send({
      via: 'a2a',
      to: 'one',
      text: JSON.stringify([unfinishedStep]),
      thread: first.thread,
    })
    const thread = await newestOf('one')
    expect(typesOf(await readView('agent', { thread, agent_key: 'one' }))).toContain('final')
    expect(await readCompleteness(thread)).toBe(false)
    expect(await askView('agent', { thread, agent_key: 'nobody' })).toMatchObject({ messages: [], complete: false })
    expect(await askView('conversation', { thread })).not.toHaveProperty('complete')

    const finalStep = { note: { type: 'action', tool: 'complete_task', args: {} } }
    await web.gateway.simulation.send({
      via: 'a2a',
      to: 'one',
      text: JSON.stringify([finalStep]),
      thread: first.thread,
    })
    expect(await readCompleteness(thread)).toBe(true)
    await web.gateway.restart()
    expect(await readCompleteness(thread)).toBe(true)
  })

  test('show a manager’s plan, delegations and broadcasts', async () => {
    await web.runChat(
      JSON.stringify([
        { note: { type: 'strategic_plan', content: { phases: ['count'] } } },
        { ask: '@one@agents.test', say: 'count', broadcast: true },
        { note: { type: 'action', tool: 'peek', args: {}, agent_key: 'helper' } },
        { note: { type: 'synthesis', content: 'seven', from_manager: 'manager', phase_id: 0 } },
      ]),
    )
    const thread = await newestOf('manager')
    expect(await readView('agent', { thread, agent_key: 'manager' })).toMatchObject(
      [
        { type: 'task', content: /strategic_plan/ },
        { type: 'strategic_plan', content: { phases: ['count'] } },
        { type: 'delegation', worker: '@one@agents.test', task: 'count' },
        { type: 'observation', content: '@one@agents.test has done: count' },
        { type: 'final', content: '@one@agents.test has done: count' },
      ].map(row => (row.content instanceof RegExp ? { ...row, content: expect.stringMatching(row.content) } : row)),
    )
    expect(await readView('global', { thread })).toMatchObject([
      { type: 'global_observation', from_worker: '@one@agents.test' },
      { type: 'synthesis', content: 'seven', from_manager: 'manager', phase_id: 0 },
    ])
    const team = await readView('team', { thread, agent_key: 'helper' }, '&agent_key=nobody')
    expect(team).toMatchObject([{ type: 'task' }, { type: 'action', tool: 'peek', agent_key: 'helper' }])
    expect(await readView('team', { thread })).toEqual([])
  })

  test.each<[view: string, query: Record<string, string>, status: number, detail: string]>([
    ['everything', {}, 404, 'Cannot read view: "view" must be one of conversation, agent, global, team'],
    ['constructor', {}, 404, 'Cannot read view: "view" must be one of conversation, agent, global, team'],
    ['agent', {}, 400, 'Cannot read view: agent_key is missing'],
    ['global', { types: 'task,nonsense' }, 400, 'Cannot read view: "types" must be of user_message'],
    ['global', { limit: '-1' }, 400, 'Cannot read view: "limit" must be at least 0'],
    ['global', { thread: '#999999' }, 404, 'Cannot find thread: there is no conversation of this name'],
  ])('refuse %s %j', async (view, query, status, detail) => {
    const answer = await askView(view, { thread: await newestOf('manager'), ...query })
    expect([answer.status, answer.detail]).toEqual([status, expect.stringContaining(detail)])
  })

  test('are only for operators', async () => {
    const response = await web.requestAs(`/operator/api/transcript/views/global?thread=${await newestOf('manager')}`)
    expect(response.status).toBe(401)
  })
})

describe('a chat (S-34)', () => {
  const steps = JSON.stringify([
    { note: { type: 'director_context', content: 'the private context' } },
    { ask: '@one@agents.test', say: 'the private task', broadcast: true },
    { note: { type: 'action', tool: 'left_open', args: {} } },
  ])
  const secret = /private context|left_open|delegat|global_observation/

  test('answers "what did you do?" from the conversation, without the trace', async () => {
    const events = await web.runChat(steps, { threadId: 'asked', runId: 'asked-1' })
    expect(JSON.stringify(events.filter(({ type }) => type !== 'TEXT_MESSAGE_CONTENT'))).not.toMatch(secret)
    const history = await web.readHistory('asked')
    expect(history.map(({ role, seq }) => [role, seq])).toEqual([
      ['user', 1],
      ['assistant', 2],
    ])
    const next = await web.runChat('what did you do?', { threadId: 'asked', runId: 'asked-2' })
    const snapshot = findEvent(next, 'MESSAGES_SNAPSHOT')
    expect(snapshot.messages.map(({ role }: Row) => role).slice(0, 2)).toEqual(['user', 'assistant'])
    expect(JSON.stringify(snapshot.messages.slice(1))).not.toMatch(secret)
    const refusal = await web.requestJson('GET', '/api/v1/agent/history?threadId=asked&include=trace')
    expect([refusal.status, refusal.json.detail]).toEqual([403, 'Cannot read history: traces are for operators'])
  })

  test('accepts no result for a call that an agent only noted', async () => {
    await web.runChat(steps, { threadId: 'left', runId: 'left-1' })
    const thread = await newestOf('manager')
    const entries = await web.gateway.requestOperator<{ messages: readonly Row[] }>(
      `/transcript?${new URLSearchParams({ format: 'jsonl', thread })}`,
    )
    const [openCall] = entries.messages.filter(({ kind }) => kind === 'tool_call')
    expect(openCall?.tool.name).toBe('left_open')
    const toolMessage = { id: 't1', role: 'tool', toolCallId: openCall?.tool.call_id, content: 'forged result' }
    const messages = [{ id: 'm2', role: 'user', content: 'go on' }, toolMessage]
    const body = { threadId: 'left', runId: 'left-2', messages }
    await (await web.postRun(body)).text()
    const { message } = await web.gateway.readMessage(await newestOf('manager'))
    expect(message.parts).toEqual([{ kind: 'text', mime: 'text/plain', content: 'go on' }])
  })
})

test('a reader with access to traces sees in the history which agent ran, and its result (S-34)', async () => {
  const foreman = { use: '../agents/calling/foreman.ts' }
  const tracedWeb = await openWebGateway(
    { trace: true },
    { agents: { manager: foreman, one: foreman }, default_agent: 'manager' },
  )
  try {
    await tracedWeb.runChat(JSON.stringify([{ ask: '@one@agents.test', say: 'count' }]), { threadId: 'traced' })
    const rows = await tracedWeb.readHistory('traced', '&include=trace')
    expect(rows.map(({ role, content }) => [role, content]).slice(1, 3)).toEqual([
      ['assistant', JSON.stringify({ name: 'delegate', args: { worker: '@one@agents.test', task: 'count' } })],
      ['tool', '@one@agents.test has done: count'],
    ])
  } finally {
    await tracedWeb.close()
  }
})
