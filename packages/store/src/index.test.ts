import { readFileSync } from 'node:fs'
import { sketchedChannels as channels, sketchAnswer, sketchIntake } from '@postern/testing'
import { expect, test } from 'vitest'
import { discardLog as log } from '../test/open-test-store.ts'
import { openSqliteStore } from './index.ts'

test('the example in the README admits a message, commits its turn and settles its delivery', async () => {
  const intake = sketchIntake('m1')
  const delivered: unknown[] = []
  const deliver = async (delivery: unknown) => void delivered.push(delivery)

  const store = await openSqliteStore({ path: ':memory:', now: Date.now, log, channels })
  await store.admit(intake, 'c1')

  const [turn] = await store.leaseTurns({ holder: 'worker 1', limit: 1, leaseMs: 30_000 })
  if (turn) await store.commit(turn, sketchAnswer(turn, 'Good day.', ['https://peer.test/inbox']))

  const due = await store.leaseDeliveries({ holder: 'worker 1', limit: 1, leaseMs: 30_000, rank: 'answer' })
  for (const delivery of due) {
    await deliver(delivery)
    await store.settle(delivery, { state: 'sent' })
  }
  const { state } = (await store.findMessage('m1')) ?? {}
  await store.close()

  expect(state).toBe('answered')
  expect(delivered).toHaveLength(1)
})

test('the README contains the example that this file runs', () => {
  const [readme, testSource] = ['../README.md', 'index.test.ts'].map(path =>
    readFileSync(`${import.meta.dirname}/${path}`, 'utf8'),
  )
  const [, example = 'none'] = /```ts\n([\s\S]*?)\n```/.exec(readme ?? '') ?? []
  expect(testSource?.replaceAll(/^ {2}/gm, '')).toContain(example)
})
