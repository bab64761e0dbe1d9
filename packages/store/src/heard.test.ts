import type { Intake, TurnNote } from '@postern/core'
import { expect, test } from 'vitest'
import { openSqliteDesk } from './index.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }
const task = { owner: 'ann', id: 'run-1' }
const heard: TurnNote = {
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
    thread_id: 't',
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
  const desk = await openSqliteDesk({ path: ':memory:', now: () => (time += 5), log })
  await desk.admit(intake, 'c')
  const [turn] = await desk.leaseTurns({ holder: 'test', limit: 1, leaseMs: 60_000 })
  if (!turn) throw new Error('there is no turn to take')
  const thread = await desk.transcript.openThread('ann', { transport: 'web', key: 't' })
  await desk.transcript.bindDesk(thread, { agent: 'echo', via: 'web', scope: 'ann', key: 't' })
  const read = async () => (await desk.transcript.read(thread)).map(({ role, is_incomplete }) => [role, is_incomplete])
  return { desk, turn, read }
}

const asked = ['user', undefined]

test('C-18: keepHeard() keeps the words of a turn whose task was canceled, once, and no agent reads them', async () => {
  const { desk, turn, read } = await openTurn()
  await desk.cancelTask(task)
  await desk.keepHeard(turn, heard)
  await desk.keepHeard(turn, heard)
  expect(await read()).toEqual([asked, ['assistant', true]])
  const past = { thread: turn.thread, before: Number.MAX_SAFE_INTEGER }
  expect(await desk.readNotes({ ...past, limit: 10 })).toEqual([])
  expect(await desk.readHistory({ ...past, head: 0, tail: 10 })).toHaveLength(1)
  await desk.close()
})

test('keepHeard() keeps nothing of a turn that goes on, has ended well, or is somebody else’s by now', async () => {
  const { desk, turn, read } = await openTurn()
  await desk.keepHeard(turn, heard)
  expect(await read()).toEqual([asked])
  await desk.commit(turn, { deliveries: [] })
  await desk.keepHeard(turn, heard)
  expect(await read()).toEqual([asked])
  await desk.close()
  const other = await openTurn()
  await other.desk.cancelTask(task)
  await other.desk.keepHeard({ ...other.turn, token: other.turn.token + 1 }, heard)
  expect(await other.read()).toEqual([asked])
  await other.desk.close()
})
