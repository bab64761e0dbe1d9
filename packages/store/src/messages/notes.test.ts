import type { Intake, TurnNote } from '@postern/pipeline'
import { sketchedChannels } from '@postern/testing'
import { expect, test } from 'vitest'
import { openSqliteStore } from '../index.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }
const task = { owner: 'ann', id: 'run-1' }
const note: TurnNote = {
  name: 'heard',
  at: '2026-03-13T10:00:01.000Z',
  body: {
    kind: 'text',
    role: 'assistant',
    scope: 'conversation',
    content: { parts: [{ kind: 'text', mime: 'text/plain', content: 'half of' }] },
    is_incomplete: true,
  },
}

const intake: Intake = {
  agent: 'echo',
  message: {
    id: 'm1',
    thread_source: 't',
    sender: { address: '@ann@agents.test', auth_method: 'none', verified: false },
    recipient: '@echo@agents.test',
    parts: [{ kind: 'text', mime: 'text/plain', content: 'hello' }],
    recipient_capabilities: { mention_relay: { kind: 'none' } },
    received_via: 'web',
    received_at: '2026-03-13T10:00:00.000Z',
  },
  duplicateKey: 'm1',
  thread: { scope: 'ann', references: [] },
  aliases: [],
  proofs: [],
  raw: { bytes: new Uint8Array(), form: 'json' },
  target: {},
  disposition: 'answer',
  task: { ...task, context: 't' },
}

async function openTurn() {
  let time = Date.parse('2026-03-13T10:00:00.000Z')
  const store = await openSqliteStore({ channels: sketchedChannels, path: ':memory:', now: () => (time += 5), log })
  await store.admit(intake, 'c')
  const [turn] = await store.leaseTurns({ holder: 'test', limit: 1, leaseMs: 60_000 })
  if (!turn) throw new Error('there is no turn to take')
  const thread = await store.transcript.openThread('ann', { transport: 'web', key: 't' })
  await store.transcript.bindStore(thread, { agent: 'echo', via: 'web', scope: 'ann', key: 't' })
  const read = async () => (await store.transcript.read(thread)).map(({ role, is_incomplete }) => [role, is_incomplete])
  return { store, turn, read }
}

const asked = ['user', undefined]

test('storeStreamedAnswer() stores the text of a canceled turn once, and no agent reads it (C-18)', async () => {
  const { store, turn, read } = await openTurn()
  await store.cancelTask(task)
  await store.storeStreamedAnswer(turn, note)
  await store.storeStreamedAnswer(turn, note)
  expect(await read()).toEqual([asked, ['assistant', true]])
  const past = { thread: turn.thread, beforeMessage: Number.MAX_SAFE_INTEGER }
  expect(await store.readNotes({ ...past, limit: 10 })).toEqual([])
  expect(await store.readHistory({ ...past, head: 0, tail: 10 })).toHaveLength(1)
  await store.close()
})

test('storeStreamedAnswer() stores nothing for a turn that continues, has an answer, or has another worker', async () => {
  const { store, turn, read } = await openTurn()
  await store.storeStreamedAnswer(turn, note)
  expect(await read()).toEqual([asked])
  await store.commit(turn, { deliveries: [] })
  await store.storeStreamedAnswer(turn, note)
  expect(await read()).toEqual([asked])
  await store.close()
  const other = await openTurn()
  await other.store.cancelTask(task)
  await other.store.storeStreamedAnswer({ ...other.turn, token: other.turn.token + 1 }, note)
  expect(await other.read()).toEqual([asked])
  await other.store.close()
})
