import { expect, test } from 'vitest'
import { contentOfText, type TranscriptEntry } from '../entry/entry.ts'
import { createMemoryTranscript } from '../store/memory-store.ts'
import { createTranscriptMessageStore } from './transcript-message-store.ts'
import { frameTurns, withTurnFrames } from './turn-frames.ts'

const system = {
  now: () => Date.UTC(2026, 0, 1),
  randomBytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)),
}

function entry(seq: number, text: string, members: Partial<TranscriptEntry>): TranscriptEntry {
  const base = {
    seq,
    entry_id: `e${seq}`,
    thread_id: 't',
    at: '2026-01-01T00:00:00.000Z',
    content: contentOfText(text),
  }
  return { ...base, kind: 'text', role: 'assistant', scope: 'conversation', ...members }
}

const call = (seq: number, agent_key: string, turn_id: string) =>
  entry(seq, '', {
    kind: 'tool_call',
    scope: 'agent',
    agent_key,
    turn_id,
    tool: { call_id: `c${seq}`, name: 'look', args: {} },
  })
const user = (seq: number, text: string, turn_id: string) => entry(seq, text, { role: 'user', turn_id })

const thread = [
  user(1, 'look it up', 'a'),
  call(2, 'triage', 'a'),
  call(3, 'refunds', 'a'),
  entry(4, 'here it is', { agent_key: 'refunds', turn_id: 'a' }),
  user(5, 'and now?', 'b'),
  entry(6, 'its own task', { kind: 'task', role: 'system', scope: 'agent', agent_key: 'refunds', turn_id: 'b' }),
  entry(7, 'for all', { kind: 'synthesis', scope: 'global', agent_key: 'elsewhere', turn_id: 'b' }),
  entry(8, 'done', { agent_key: 'refunds', turn_id: 'b' }),
  user(9, 'nobody has answered yet', 'c'),
  entry(10, 'said before', { role: 'user' }),
]

test('every turn of an agent begins with its task and ends with its answer, unless the agent noted them', () => {
  const rows = frameTurns(thread)
    .filter(({ scope }) => scope === 'agent')
    .map(({ kind, agent_key, turn_id }) => [turn_id, agent_key, kind].join(' '))
  expect(rows).toEqual([
    'a triage task',
    'a refunds task',
    'a triage tool_call',
    'a refunds tool_call',
    'a refunds final',
    'b refunds task',
    'b refunds final',
  ])
  expect(frameTurns(thread).filter(each => thread.includes(each))).toEqual(thread)
})

test('the views of a store read turn frames with limits and types, unlike a plain transcript (S-09)', async () => {
  const transcript = createMemoryTranscript(system)
  const key = await transcript.openThread('me', { transport: 'store', key: 'place' })
  await transcript.append(
    key,
    thread.map(each => ({ ...each, thread_id: key.thread_id })),
  )
  const store = createTranscriptMessageStore({ transcript: withTurnFrames(transcript), system, owner: 'me' })
  const typesOf = async (options?: object) =>
    (await store.listAgent('place', 'refunds', options)).map(({ type }) => type)
  expect(await typesOf()).toEqual(['task', 'action', 'final', 'task', 'final'])
  expect(await typesOf({ types: ['task'] })).toEqual(['task', 'task'])
  expect(await typesOf({ tail: 2 })).toEqual(['task', 'final'])
  expect(await store.listTeam('place', ['triage', 'refunds'], { limit: 1 })).toMatchObject([
    { type: 'task', content: 'look it up', agent_key: 'triage', turn_id: 'a' },
  ])
  expect(await store.listConversation('place')).toHaveLength(6)
  const plain = createTranscriptMessageStore({ transcript, system, owner: 'me' })
  expect((await plain.listAgent('place', 'refunds')).map(({ type }) => type)).toEqual(['action', 'task'])
})
