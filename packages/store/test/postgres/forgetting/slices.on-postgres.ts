// Tests that forgetting much leaves other gateways time to write.
import { sketchIntake } from '@postern/testing'
import { expect, test } from 'vitest'
import type { GatewayStore } from '../../../src/index.ts'
import { openPostgresTestStore } from '../open-postgres-test-store.ts'

const author = { via: 'activitypub', address: '@ann@a.test', subject: 'https://a.test/u/ann' } as const

async function admitMany(store: GatewayStore, count: number): Promise<void> {
  const ids = Array.from({ length: count }, (_, at) => `https://a.test/note/${at}`)
  await Promise.all(
    ids.map(id => store.admit(sketchIntake(id, { authorship: { author: author.subject, object: id } }), 'c')),
  )
}

test('another gateway stores messages between the slices of forgetPerson()', async () => {
  // A busy machine must not count as a silent server.
  const { store, reopen } = await openPostgresTestStore({ patienceMs: 120_000 })
  const other = (await reopen?.()) as GatewayStore
  await admitMany(store, 260)
  let isForgotten = false
  const forgetting = store.forgetPerson({ addresses: [author] }).finally(() => {
    isForgotten = true
  })
  let storedMeanwhile = 0
  for (; !isForgotten; storedMeanwhile += 1) await other.admit(sketchIntake(`other ${storedMeanwhile}`), 'c')
  expect((await forgetting).messages).toBe(260)
  // Six transactions forget them. Locks are given in the order in which they were requested.
  expect(storedMeanwhile).toBeGreaterThanOrEqual(5)
  await Promise.all([store.close(), other.close()])
}, 180_000)
