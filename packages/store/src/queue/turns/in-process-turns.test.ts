import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { IdentityEvidence, Sender } from '@postern/message'
import type { Turn, TurnConsumer, TurnTicket } from '@postern/pipeline'
import { sketchAnswer, sketchedChannels, sketchIntake } from '@postern/testing'
import { expect, test } from 'vitest'
import { createTestConsumer } from '../../../test/test-consumer.ts'
import { openSqliteStore } from '../../index.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }
const pollOf = (holder: string) => ({ holder, limit: 10, leaseMs: 60_000 })

const evidence: IdentityEvidence = {
  subject: 'https://peer.test/ada',
  issuer: 'peer.test',
  method: 'urn:mentionable:auth:a2a-jwt:v0.1',
  assurance: 'oauth',
  audience: '@echo@agents.test',
  issued_at: '2026-01-01T00:00:00.000Z',
  proof: { type: 'transport', verified_by: '@echo@agents.test' },
}
const provenAda: Sender = {
  address: '@ada@peer.test',
  auth_method: 'a2a-jwt',
  verified: true,
  identities: [evidence],
}

function openStore(path = ':memory:', exclusive = false) {
  return openSqliteStore({ channels: sketchedChannels, path, exclusive, now: () => Date.UTC(2026, 0, 1), log })
}

/** Opens a store and a worker with this number of slots. */
async function openWorker({ slots = 10, path = ':memory:' } = {}) {
  const store = await openStore(path, true)
  const { begun, held, ...test } = createTestConsumer<Turn, TurnTicket>(slots)
  const consumer: TurnConsumer = { ...test.consumer, maxConcurrent: () => slots }
  store.setTurnConsumer?.(consumer)
  return { store, begun, held, consumer }
}

test('the turn of a thread’s first message starts with its lease, and no poll finds it', async () => {
  const { store, begun, held } = await openWorker()
  const { message } = await store.admit(sketchIntake('m1'), 'c')
  expect(begun.map(({ message, token, attempt, crashes }) => [message, token, attempt, crashes])).toEqual([
    [message, 1, 1, 0],
  ])
  expect([...held]).toEqual(begun)
  expect(await store.leaseTurns(pollOf('another'))).toEqual([])
  expect((await store.count()).messages).toMatchObject({ working: 1, received: 0 })
  for (const turn of begun) await store.commit(turn, sketchAnswer(turn, 'yes'))
  expect(await store.findAnswer(message)).toBeDefined()
  expect((await store.count()).messages).toMatchObject({ working: 0, answered: 1 })
  await store.close()
})

test('a turn that starts with its lease has the same content as by a poll', async () => {
  const intake = sketchIntake('m1', { flags: ['odd'], task: { owner: 'ada', id: 'task 1', context: 'c' } })
  const { store, begun } = await openWorker()
  await store.admit(intake, 'c')
  const other = await openStore()
  await other.admit(intake, 'c')
  const [leased] = await other.leaseTurns(pollOf('worker'))
  // Each database draws an id for the thread.
  const thread_id = leased?.content.thread_id
  expect(begun.map(turn => ({ ...turn, content: { ...turn.content, thread_id } }))).toStrictEqual([
    { ...leased, content: { ...leased?.content } },
  ])
  expect(begun[0]?.content.raw).toEqual(leased?.content.raw)
  const [task, same] = await Promise.all([store, other].map(each => each.findTask({ owner: 'ada', id: 'task 1' })))
  expect([task?.state, task?.updatedAt]).toEqual(['working', same?.updatedAt])
  await Promise.all([store.close(), other.close()])
})

test.each([
  { name: 'behind an open turn of its thread', sketch: { message: { thread_source: 'thread of m0' } } },
  {
    name: 'whose agent merges messages',
    sketch: { queueMode: { mode: 'merge' } as const, message: { sender: provenAda } },
  },
  { name: 'that is large', sketch: { raw: { bytes: new Uint8Array(20_000), form: 'text' } as const } },
])('a message $name starts no turn by itself', async ({ sketch }) => {
  const { store, begun } = await openWorker()
  await store.admit(sketchIntake('m0'), 'c')
  await store.admit(sketchIntake('m1', sketch), 'c')
  expect(begun.map(({ content }) => content.id)).toEqual(['m0'])
  await store.close()
})

test('a message waits for a poll without a free slot, and a poll takes at most as many turns as slots', async () => {
  const { store, begun, held, consumer } = await openWorker({ slots: 2 })
  const ids = ['m1', 'm2', 'm3', 'm4']
  await Promise.all(ids.map(id => store.admit(sketchIntake(id), 'c')))
  expect(begun.map(({ content }) => content.id)).toEqual(['m1', 'm2'])
  expect(await store.leaseTurns({ ...pollOf('worker'), consumer })).toEqual([])
  for (const turn of begun.slice(0, 1)) {
    await store.commit(turn, sketchAnswer(turn, 'yes'))
    held.delete(turn)
  }
  const leased = await store.leaseTurns({ ...pollOf('worker'), consumer })
  expect(leased.map(({ content }) => content.id)).toEqual(['m3'])
  expect(held.size).toBe(2)
  await store.close()
})

test('a poll counts an agent’s turns that started since its worker asked', async () => {
  const { store, begun, consumer } = await openWorker({ slots: 2 })
  await Promise.all(['m1', 'm2', 'm3'].map(id => store.admit(sketchIntake(id), 'c')))
  expect(begun).toHaveLength(2)
  const asked = { limit: 10, shares: { maxPerGroup: 2, usedByGroup: new Map() } }
  expect(await store.leaseTurns({ ...pollOf('worker'), consumer: { ...consumer, beginPoll: () => asked } })).toEqual([])
  await store.close()
})

test('a failed transaction keeps no slot, and its valid message starts once', async () => {
  const { store, begun, held } = await openWorker()
  const broken = sketchIntake('m2', { duplicateKey: undefined as never })
  const outcomes = await Promise.allSettled([store.admit(sketchIntake('m1'), 'c'), store.admit(broken, 'c')])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  expect(begun.map(({ content }) => content.id)).toEqual(['m1'])
  expect([...held]).toEqual(begun)
  await store.close()
})

test('a turn learns of an edit in the same transaction, and a poll finds it again', async () => {
  const { store, begun } = await openWorker()
  const heard: unknown[] = []
  const authorship = { author: 'ada', object: 'o1' }
  const listening = store.admit(sketchIntake('m1', { authorship }), 'c')
  const push = begun.push.bind(begun)
  begun.push = turn => {
    store.listen(`message:${turn.message}`, notice => heard.push(notice))
    return push(turn)
  }
  const edit = sketchIntake('m2', { authorship, message: { kind: 'edit', thread_source: 'thread of m1' } })
  await Promise.all([listening, store.admit(edit, 'c')])
  expect(heard).toEqual([{ kind: 'edited', token: 1 }])
  const [again] = await store.leaseTurns(pollOf('worker'))
  expect([again?.token, again?.attempt, again?.revision]).toEqual([3, 1, 1])
  await store.close()
})

test('the notice of an edit names the ended lease, because it may follow the next lease of the turn', async () => {
  const { store, consumer } = await openWorker()
  const authorship = { author: 'ada', object: 'o1' }
  await store.admit(sketchIntake('m1', { authorship }), 'c')
  store.setTurnConsumer?.({ ...consumer, continuesAdmission: () => true })
  const edit = sketchIntake('m2', { authorship, message: { kind: 'edit', thread_source: 'thread of m1' } })
  const admitting = [edit, sketchIntake('m3')].map(intake => store.admit(intake, 'c'))
  const heard: unknown[] = []
  const [again] = await store.leaseTurns(pollOf('worker'))
  store.listen(`message:${again?.message}`, notice => heard.push(notice))
  await Promise.all(admitting)
  await new Promise(setImmediate)
  expect([again?.token, heard]).toEqual([3, [{ kind: 'edited', token: 1 }]])
  await store.close()
})

test('after a crash the next process takes up a turn that started with its lease, and counts the attempt', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'postern-offer-')), 'postern.db')
  const { store, begun } = await openWorker({ path })
  await store.admit(sketchIntake('m1'), 'c')
  expect(begun).toHaveLength(1)
  await store.close()
  const next = await openStore(path, true)
  const [turn] = await next.leaseTurns(pollOf('next'))
  expect([turn?.token, turn?.attempt, turn?.crashes]).toEqual([2, 2, 1])
  await next.close()
})

test('a store with other writers accepts no consumer', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'postern-offer-')), 'postern.db')
  const store = await openStore(path)
  expect(store.setTurnConsumer).toBeUndefined()
  await store.close()
})
