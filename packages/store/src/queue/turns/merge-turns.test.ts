import type { Turn } from '@postern/pipeline'
import { mergeBounds } from '@postern/pipeline'
import { sketchAnswer, sketchIntake } from '@postern/testing'
import { drawCount } from '@postern/testing/scale'
import { expect, test } from 'vitest'
import { openStoreUnderTest } from '../../../test/open-test-store.ts'

const sender = {
  address: '@ada@peer.test',
  auth_method: 'a2a-jwt' as const,
  verified: true,
  identities: [
    {
      subject: 'ada',
      issuer: 'peer.test',
      method: 'urn:mentionable:auth:a2a-jwt:v0.1',
      assurance: 'oauth',
      audience: '@echo@agents.test',
      issued_at: '2026-01-01T00:00:00.000Z',
      proof: { type: 'transport' as const, verified_by: '@echo@agents.test' },
    },
  ],
}

const many = drawCount({ quick: 2_000, long: 10_000 })

async function admitMany(count: number, mode: 'merge' | 'interrupt') {
  const tested = await openStoreUnderTest()
  const { store } = tested
  const admitOne = (at: number) =>
    store.admit(
      sketchIntake(`m${at}`, { queueMode: { mode }, message: { thread_source: 't', sender: structuredClone(sender) } }),
      'c',
    )
  await Promise.all(Array.from({ length: count }, (_, at) => admitOne(at)))
  return tested
}

/** Answers due turns until there are none, and measures the steps of each. */
async function answerAll({ store }: Awaited<ReturnType<typeof openStoreUnderTest>>) {
  const turns: Turn[] = []
  for (;;) {
    const [turn] = await store.leaseTurns({ holder: 'w', limit: 9, leaseMs: 1_000 })
    if (!turn) return turns
    turns.push(turn)
    await store.commit(turn, sketchAnswer(turn, 'heard'))
  }
}

test(`${many} messages of one sender in one thread become turns of limited size that answer every message`, async () => {
  const tested = await admitMany(many, 'merge')
  const turns = await answerAll(tested)
  expect(turns).toHaveLength(many / mergeBounds.messages)
  expect(Math.max(...turns.map(({ content }) => content.parts.length))).toBe(mergeBounds.messages)
  expect((await tested.store.count()).messages).toMatchObject({ answered: many, received: 0, working: 0 })
  await tested.store.close()
})

test(`${many} interruptions leave only the newest turn`, async () => {
  const tested = await admitMany(many, 'interrupt')
  const turns = await answerAll(tested)
  expect(turns.map(({ content }) => content.id)).toEqual([`m${many - 1}`])
  expect((await tested.store.count()).messages).toMatchObject({ answered: 1, ignored: many - 1 })
  await tested.store.close()
})

test(`${many} edits of a waiting message leave one turn with the last text`, { timeout: 1_000_000 }, async () => {
  const tested = await openStoreUnderTest()
  const { store } = tested
  const authorship = { author: 'https://peer.test/ada', object: 'note' }
  await store.admit(sketchIntake('m', { authorship, message: { thread_source: 't' } }), 'c')
  const edit = (at: number) =>
    store.admit(sketchIntake(`e${at}`, { authorship, message: { thread_source: 't', kind: 'edit' } }), 'c')
  await Promise.all(Array.from({ length: many }, (_, at) => edit(at)))
  const turns = await answerAll(tested)
  expect(turns.map(({ content }) => content.parts)).toMatchObject([[{ content: `words of e${many - 1}` }]])
  await store.close()
})
