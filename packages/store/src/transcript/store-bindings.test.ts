import type { NormalizedResponse, Part } from '@postern/message'
import type { Intake, Turn } from '@postern/pipeline'
import { sketchedChannels } from '@postern/testing'
import { findAnsweredQuestion, listOpenWaits } from '@postern/transcript'
import { describe, expect, it } from 'vitest'
import type { GatewayStore } from '../index.ts'
import { openSqliteStore } from '../index.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }
const conversation = { agent: 'echo', via: 'web', scope: 'ann', key: 't-1' }
const createTextPart = (content: string): Part => ({ kind: 'text', mime: 'text/plain', content })

let time = Date.parse('2026-03-13T10:00:00.000Z')
const openStore = () => openSqliteStore({ channels: sketchedChannels, path: ':memory:', now: () => (time += 5), log })

function createIntake(id: string, parts: readonly Part[]): Intake {
  return {
    agent: 'echo',
    message: {
      id,
      thread_source: conversation.key,
      sender: { address: '@ann@agents.test', auth_method: 'none', verified: false },
      recipient: '@echo@agents.test',
      parts: [...parts],
      recipient_capabilities: { mention_relay: { kind: 'none' } },
      received_via: 'web',
      received_at: '2026-03-13T10:00:00.000Z',
    },
    duplicateKey: id,
    thread: { scope: conversation.scope, references: [] },
    aliases: [],
    proofs: [],
    raw: { bytes: new Uint8Array(), form: 'json' },
    target: {},
    disposition: 'answer',
    task: { owner: 'ann', id: `run-${id}`, context: conversation.key },
  }
}

async function leaseTurn(store: GatewayStore): Promise<Turn> {
  const [turn] = await store.leaseTurns({ holder: 'test', limit: 1, leaseMs: 60_000 })
  if (!turn) throw new Error('there is no turn to take')
  return turn
}

function createResponse({ content }: Turn, parts: readonly Part[]): NormalizedResponse {
  const { id: in_reply_to, thread_id, recipient: sender } = content
  return {
    id: `re-${in_reply_to}`,
    in_reply_to,
    thread_id,
    sender,
    parts: [...parts],
    status: 'completed',
    created_at: '2026-03-13T10:00:01.500Z',
  }
}

async function answerNextTurn(
  store: GatewayStore,
  parts: readonly Part[],
  details: Partial<NormalizedResponse> = {},
): Promise<void> {
  const turn = await leaseTurn(store)
  await store.commit(turn, { response: { ...createResponse(turn, parts), ...details }, deliveries: [] })
}

describe('openBound()', () => {
  const alias = { transport: 'web', key: 't-1' }

  it('opens one thread with a stored conversation, also for simultaneous callers, and none without a conversation', async () => {
    const store = await openStore()
    const { transcript } = store
    expect(await transcript.openBound('ann', alias, conversation)).toBeUndefined()
    expect(await transcript.findBinding('ann', alias, conversation)).toEqual({ hasConversation: false })
    await store.admit(createIntake('m1', [createTextPart('one')]), 'c1')
    expect(await transcript.findBinding('ann', alias, conversation)).toEqual({ hasConversation: true })
    const openings = [1, 2].map(() => transcript.openBound('ann', alias, conversation))
    const [thread, sameThread] = await Promise.all(openings)
    expect(thread).toEqual(sameThread)
    expect(await transcript.findBinding('ann', alias, conversation)).toEqual({ thread, hasConversation: true })
    expect((await transcript.readUsage('ann')).threads).toBe(1)
    expect(thread && (await transcript.read(thread)).map(({ native_id }) => native_id)).toEqual(['m1'])
    await store.close()
  })

  it('binds a conversation to a thread that has its alias already', async () => {
    const store = await openStore()
    const { transcript } = store
    const thread = await transcript.openThread('ann', alias)
    await store.admit(createIntake('m1', [createTextPart('one')]), 'c1')
    expect(await transcript.openBound('ann', alias, conversation)).toEqual(thread)
    expect((await transcript.read(thread)).map(({ native_id }) => native_id)).toEqual(['m1'])
    await store.close()
  })
})

describe('bindStore()', () => {
  it('makes a stored conversation with its actions part of a thread, and shows later messages', async () => {
    const store = await openStore()
    const { transcript } = store
    const thread = await transcript.openThread('ann', { transport: 'web', key: 't-1' })
    expect(await transcript.bindStore(thread, conversation)).toBe(false)
    await store.admit(createIntake('m1', [createTextPart('look it up')]), 'c1')
    expect(await transcript.bindStore(thread, conversation)).toBe(true)
    expect((await transcript.read(thread)).map(({ native_id, seq, chat_seq }) => [native_id, seq, chat_seq])).toEqual([
      ['m1', 1, 1],
    ])
    const call = { kind: 'tool_call', id: 'c', name: 'search', args: { q: 'it' }, result: [1] } as const
    await answerNextTurn(store, [call, createTextPart('found')])
    const entries = await transcript.read(thread)
    expect(entries.map(({ kind, role, seq, chat_seq, run_id }) => [kind, role, seq, chat_seq, run_id])).toEqual([
      ['text', 'user', 1, 1, 'run-m1'],
      ['tool_call', 'assistant', 2, undefined, 'run-m1'],
      ['tool_result', 'tool', 3, undefined, 'run-m1'],
      ['text', 'assistant', 4, 2, 'run-m1'],
    ])
    expect(entries[1]).toMatchObject({
      native_id: 're-m1',
      agent_key: 'echo',
      latency_ms: 1500,
      tool: { call_id: 'c', name: 'search', args: { q: 'it' } },
    })
    expect(entries[2]?.tool).toEqual({ call_id: 'c', name: 'search', success: true, result: [1] })
    expect(entries[3]?.content).toEqual({ parts: [createTextPart('found')] })
    await store.close()
  })

  it('keeps positions in order while answers and imported entries alternate', async () => {
    const store = await openStore()
    const { transcript } = store
    const thread = await transcript.openThread('ann', { transport: 'web', key: 't-1' })
    await store.admit(createIntake('m1', [createTextPart('one')]), 'c1')
    await transcript.bindStore(thread, conversation)
    await store.admit(createIntake('m2', [createTextPart('two')]), 'c2')
    expect(await transcript.read(thread, { chat: true })).toHaveLength(2)
    await transcript.append(thread, [
      {
        entry_id: 'own',
        thread_id: thread.thread_id,
        scope: 'agent',
        kind: 'task',
        role: 'system',
        content: { value: 'do' },
        at: '2026-03-13T10:00:00.000Z',
      },
    ])
    await answerNextTurn(store, [createTextPart('re one')])
    await answerNextTurn(store, [createTextPart('re two')])
    const entries = await transcript.read(thread)
    expect(entries.map(({ native_id, entry_id, seq }) => [native_id ?? entry_id, seq])).toEqual([
      ['m1', 1],
      ['m2', 2],
      ['own', 3],
      ['re-m1', 4],
      ['re-m2', 5],
    ])
    expect((await transcript.read(thread, { chat: true, after_seq: 2 })).map(({ chat_seq }) => chat_seq)).toEqual([
      3, 4,
    ])
    expect(await transcript.read(thread)).toEqual(entries)
    await store.close()
  })

  it('ends with its conversation, and shows no later conversation with the same number', async () => {
    const store = await openStore()
    const { transcript } = store
    const admit = async (id: string, owner: string) => {
      const intake = createIntake(id, [createTextPart(`words of ${owner}`)])
      const task = { owner, id: `run-${id}`, context: 't-1' }
      await store.admit({ ...intake, thread: { scope: owner, references: [] }, task }, 'c')
      await answerNextTurn(store, [createTextPart('re')])
    }
    await admit('m1', 'bob')
    await admit('m2', 'ann')
    await admit('m3', 'bob')
    const thread = await transcript.openThread('ann', { transport: 'web', key: 't-1' })
    expect(await transcript.bindStore(thread, conversation)).toBe(true)
    expect(await transcript.read(thread)).toHaveLength(2)
    expect(await store.expireTasks({ owner: 'ann', maxTasks: 0, limit: 10 })).toEqual({ removed: 1, isDone: true })
    await admit('m4', 'cyd')
    expect(await transcript.read(thread)).toEqual([])
    await store.close()
  })

  it('keeps a web chat when old tasks expire', async () => {
    const store = await openStore()
    for (const owner of ['web:ann', 'other']) {
      const intake = createIntake(owner, [createTextPart('one')])
      await store.admit({ ...intake, task: { owner, id: 'run', context: 't-1' } }, 'c1')
      await answerNextTurn(store, [createTextPart('re')])
    }
    await store.admit(createIntake('newest', [createTextPart('two')]), 'c2')
    expect(await store.expireTasks({ unchangedSince: time + 1_000_000, limit: 10 })).toEqual({
      removed: 1,
      isDone: true,
    })
    expect(await store.findTask({ owner: 'web:ann', id: 'run' })).toBeDefined()
    expect(await store.findTask({ owner: 'other', id: 'run' })).toBeUndefined()
    await store.close()
  })

  it('shows edited text, and nothing that the agent withdrew', async () => {
    const store = await openStore()
    const { transcript } = store
    const thread = await transcript.openThread('ann', { transport: 'web', key: 't-1' })
    await store.admit(createIntake('m1', [createTextPart('one')]), 'c1')
    await transcript.bindStore(thread, conversation)
    const turn = await leaseTurn(store)
    const response = createResponse(turn, [createTextPart('secret')])
    await store.commit(turn, { response, deliveries: [] })
    const said = async () => (await transcript.read(thread)).map(({ content }) => content)
    expect(await said()).toEqual([{ parts: [createTextPart('one')] }, { parts: [createTextPart('secret')] }])
    const planned = { deliveries: [] }
    await store.storeActions(
      [{ kind: 'edit', response: { ...response, parts: [createTextPart('better')] }, deliveryPlan: planned }],
      'c2',
    )
    expect(await said()).toEqual([{ parts: [createTextPart('one')] }, { parts: [createTextPart('better')] }])
    await store.storeActions([{ kind: 'delete', response: response.id, deliveryPlan: planned }], 'c3')
    expect(await said()).toEqual([{ parts: [createTextPart('one')] }, { parts: [] }])
    await store.close()
  })

  it('shows an agent’s question as a question, and the person’s next message as its answer (E-40)', async () => {
    const store = await openStore()
    await store.admit(createIntake('m1', [createTextPart('A cake, please')]), 'c1')
    await answerNextTurn(store, [createTextPart('Which one?')], { status: 'input_required' })
    const thread = await store.transcript.openThread('ann', { transport: 'web', key: 't-1' })
    await store.transcript.bindStore(thread, conversation)
    const [, question] = await store.transcript.read(thread)
    expect(question).toMatchObject({ kind: 'input_required', role: 'tool', chat_seq: 2, native_id: 're-m1' })
    const now = Date.parse('2026-03-13T10:00:02.000Z')
    expect(findAnsweredQuestion(await store.transcript.read(thread), now)?.wait.id).toBe('re-m1')
    await store.admit(createIntake('m2', [createTextPart('The round one')]), 'c2')
    expect(listOpenWaits(await store.transcript.read(thread), now)).toEqual([])
    await store.close()
  })

  it('shows an answer’s tool calls with their agents before its text, until the agent deletes the answer (W-23)', async () => {
    const store = await openStore()
    await store.admit(createIntake('m1', [createTextPart('My money')]), 'c1')
    const call = { kind: 'tool_call', id: 'c1', name: 'navigate_to_b', args: {}, result: 'gone', agent: 'a' } as const
    await answerNextTurn(store, [createTextPart('Here is b')], {
      speaker: 'b',
      trace: [call],
      chat_state: { activeAgent: 'b' },
    })
    const thread = await store.transcript.openThread('ann', { transport: 'web', key: 't-1' })
    await store.transcript.bindStore(thread, conversation)
    const read = async () =>
      (await store.transcript.read(thread)).map(({ kind, agent_key, chat_seq }) => [kind, agent_key, chat_seq])
    expect(await read()).toEqual([
      ['text', undefined, 1],
      ['tool_call', 'a', undefined],
      ['tool_result', 'a', undefined],
      ['text', 'b', 2],
    ])
    await store.storeActions([{ kind: 'delete', response: 're-m1', deliveryPlan: { deliveries: [] } }], 'c2')
    expect(JSON.stringify(await store.transcript.read(thread))).not.toMatch(/navigate|Here is b|gone/)
    expect(JSON.stringify((await store.findResponse('re-m1'))?.response)).not.toMatch(/navigate|activeAgent/)
    await store.close()
  })
})
