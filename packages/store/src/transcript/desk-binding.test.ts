import type { Intake, NormalizedResponse, Part, Turn } from '@postern/core'
import { findAnsweredQuestion, listOpenWaits } from '@postern/transcript'
import { describe, expect, it } from 'vitest'
import type { StoreDesk } from '../index.ts'
import { openSqliteDesk } from '../index.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }
const conversation = { agent: 'echo', via: 'web', scope: 'ann', key: 't-1' }
const text = (content: string): Part => ({ kind: 'text', mime: 'text/plain', content })

let time = Date.parse('2026-03-13T10:00:00.000Z')
const openDesk = () => openSqliteDesk({ path: ':memory:', now: () => (time += 5), log })

function makeIntake(id: string, parts: readonly Part[]): Intake {
  return {
    agent: 'echo',
    message: {
      id,
      thread_id: conversation.key,
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

async function takeTurn(desk: StoreDesk): Promise<Turn> {
  const [turn] = await desk.leaseTurns({ holder: 'test', limit: 1, leaseMs: 60_000 })
  if (!turn) throw new Error('there is no turn to take')
  return turn
}

function makeResponse({ content }: Turn, parts: readonly Part[]): NormalizedResponse {
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

async function answer(
  desk: StoreDesk,
  parts: readonly Part[],
  behind: Partial<NormalizedResponse> = {},
): Promise<void> {
  const turn = await takeTurn(desk)
  await desk.commit(turn, { response: { ...makeResponse(turn, parts), ...behind }, deliveries: [] })
}

describe('bindDesk()', () => {
  it('makes a conversation of the desk part of a thread, with what was done in it, and goes on as it goes on', async () => {
    const desk = await openDesk()
    const { transcript } = desk
    const thread = await transcript.openThread('ann', { transport: 'web', key: 't-1' })
    expect(await transcript.bindDesk(thread, conversation)).toBe(false)
    await desk.admit(makeIntake('m1', [text('look it up')]), 'c1')
    expect(await transcript.bindDesk(thread, conversation)).toBe(true)
    expect((await transcript.read(thread)).map(({ native_id, seq, chat_seq }) => [native_id, seq, chat_seq])).toEqual([
      ['m1', 1, 1],
    ])
    const call = { kind: 'tool_call', id: 'c', name: 'search', args: { q: 'it' }, result: [1] } as const
    await answer(desk, [call, text('found')])
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
    expect(entries[3]?.content).toEqual({ parts: [text('found')] })
    await desk.close()
  })

  it('keeps the order of places while answers and entries of dialects come between', async () => {
    const desk = await openDesk()
    const { transcript } = desk
    const thread = await transcript.openThread('ann', { transport: 'web', key: 't-1' })
    await desk.admit(makeIntake('m1', [text('one')]), 'c1')
    await transcript.bindDesk(thread, conversation)
    await desk.admit(makeIntake('m2', [text('two')]), 'c2')
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
    await answer(desk, [text('re one')])
    await answer(desk, [text('re two')])
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
    await desk.close()
  })

  it('ends with its conversation: who gets its number later is not shown in it', async () => {
    const desk = await openDesk()
    const { transcript } = desk
    const admit = async (id: string, owner: string) => {
      const intake = makeIntake(id, [text(`words of ${owner}`)])
      const task = { owner, id: `run-${id}`, context: 't-1' }
      await desk.admit({ ...intake, thread: { scope: owner, references: [] }, task }, 'c')
      await answer(desk, [text('re')])
    }
    await admit('m1', 'bob')
    await admit('m2', 'ann')
    await admit('m3', 'bob')
    const thread = await transcript.openThread('ann', { transport: 'web', key: 't-1' })
    expect(await transcript.bindDesk(thread, conversation)).toBe(true)
    expect(await transcript.read(thread)).toHaveLength(2)
    expect(await desk.expireTasks({ owner: 'ann', most: 0, limit: 10 })).toEqual({ removed: 1, isDone: true })
    await admit('m4', 'cyd')
    expect(await transcript.read(thread)).toEqual([])
    await desk.close()
  })

  it('does not expire with tasks: chats are kept until they are forgotten', async () => {
    const desk = await openDesk()
    for (const owner of ['web:ann', 'other']) {
      const intake = makeIntake(owner, [text('one')])
      await desk.admit({ ...intake, task: { owner, id: 'run', context: 't-1' } }, 'c1')
      await answer(desk, [text('re')])
    }
    await desk.admit(makeIntake('newest', [text('two')]), 'c2')
    expect(await desk.expireTasks({ before: time + 1_000_000, limit: 10 })).toEqual({ removed: 1, isDone: true })
    expect(await desk.findTask({ owner: 'web:ann', id: 'run' })).toBeDefined()
    expect(await desk.findTask({ owner: 'other', id: 'run' })).toBeUndefined()
    await desk.close()
  })

  it('shows the words as the agent has changed them, and nothing of what it has taken back', async () => {
    const desk = await openDesk()
    const { transcript } = desk
    const thread = await transcript.openThread('ann', { transport: 'web', key: 't-1' })
    await desk.admit(makeIntake('m1', [text('one')]), 'c1')
    await transcript.bindDesk(thread, conversation)
    const turn = await takeTurn(desk)
    const response = makeResponse(turn, [text('secret')])
    await desk.commit(turn, { response, deliveries: [] })
    const said = async () => (await transcript.read(thread)).map(({ content }) => content)
    expect(await said()).toEqual([{ parts: [text('one')] }, { parts: [text('secret')] }])
    const planned = { deliveries: [] }
    await desk.act([{ kind: 'edit', response: { ...response, parts: [text('better')] }, planned }], 'c2')
    expect(await said()).toEqual([{ parts: [text('one')] }, { parts: [text('better')] }])
    await desk.act([{ kind: 'delete', response: response.id, planned }], 'c3')
    expect(await said()).toEqual([{ parts: [text('one')] }, { parts: [] }])
    await desk.close()
  })

  it('E-40: shows a question of the agent’s as what it is, and the next message of the user as its answer', async () => {
    const desk = await openDesk()
    await desk.admit(makeIntake('m1', [text('A cake, please')]), 'c1')
    await answer(desk, [text('Which one?')], { status: 'input_required' })
    const thread = await desk.transcript.openThread('ann', { transport: 'web', key: 't-1' })
    await desk.transcript.bindDesk(thread, conversation)
    const [, question] = await desk.transcript.read(thread)
    expect(question).toMatchObject({ kind: 'input_required', role: 'tool', chat_seq: 2, native_id: 're-m1' })
    const now = Date.parse('2026-03-13T10:00:02.000Z')
    expect(findAnsweredQuestion(await desk.transcript.read(thread), now)?.wait.id).toBe('re-m1')
    await desk.admit(makeIntake('m2', [text('The round one')]), 'c2')
    expect(listOpenWaits(await desk.transcript.read(thread), now)).toEqual([])
    await desk.close()
  })

  it('W-23: shows what was done behind an answer before its words, each by who did it, until the answer is taken back', async () => {
    const desk = await openDesk()
    await desk.admit(makeIntake('m1', [text('My money')]), 'c1')
    const call = { kind: 'tool_call', id: 'c1', name: 'navigate_to_b', args: {}, result: 'gone', agent: 'a' } as const
    await answer(desk, [text('Here is b')], { speaker: 'b', trace: [call], chat_state: { activeAgent: 'b' } })
    const thread = await desk.transcript.openThread('ann', { transport: 'web', key: 't-1' })
    await desk.transcript.bindDesk(thread, conversation)
    const read = async () =>
      (await desk.transcript.read(thread)).map(({ kind, agent_key, chat_seq }) => [kind, agent_key, chat_seq])
    expect(await read()).toEqual([
      ['text', undefined, 1],
      ['tool_call', 'a', undefined],
      ['tool_result', 'a', undefined],
      ['text', 'b', 2],
    ])
    await desk.act([{ kind: 'delete', response: 're-m1', planned: { deliveries: [] } }], 'c2')
    expect(JSON.stringify(await desk.transcript.read(thread))).not.toMatch(/navigate|Here is b|gone/)
    expect(JSON.stringify((await desk.findResponse('re-m1'))?.response)).not.toMatch(/navigate|activeAgent/)
    await desk.close()
  })
})
