// Tests a gateway that accepts messages and another one that works.
import { join } from 'node:path'
import type { MessageSummary } from '@postern/pipeline'
import type { Cluster } from '@postern/testing/postgres-cluster'
import { createCluster } from '@postern/testing/postgres-cluster'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { untilAllAnswered } from './load.ts'
import type { Pair } from './pair.ts'
import { openPair } from './pair.ts'

const stubborn = { use: join(import.meta.dirname, '../agents/waiting/stubborn.ts') }

let cluster: Cluster
let pair: Pair
beforeAll(async () => {
  cluster = await createCluster({ programs: process.env.TEST_POSTGRES_PROGRAMS ?? '' })
  await cluster.start()
  pair = await openPair(cluster.url, { stubborn }, [{ roles: ['ingress'] }, { roles: ['worker'] }])
}, 60_000)
afterAll(async () => {
  await pair.close()
  await cluster.remove()
})

test('a caller of the ingress gateway gets the answer of the working gateway', async () => {
  const [ingress] = pair.gateways
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => ingress.send({ id: `call-${index}`, text: `hello ${index}` })),
  )
  for (const [index, { status, text }] of answers.entries()) {
    expect(status, text).toBe(200)
    expect(text).toContain(`heard hello ${index}`)
  }
}, 60_000)

test('the working gateway refuses calls with a reference to others, and serves documents', async () => {
  const [, worker] = pair.gateways
  const refusal = await worker.send({ id: 'refused', text: 'hello' })
  expect(refusal).toMatchObject({ status: 503, retryAfter: '5' })
  expect(refusal.text).toContain('this gateway takes none, but others at its address do')
  expect((await worker.probe('/.well-known/agent-card.json')).status).toBe(200)
  expect((await worker.probe('/readyz')).status).toBe(200)
})

test('the ingress gateway stores messages while no gateway works, and answers none itself', async () => {
  const [ingress, worker] = pair.gateways
  await worker.kill()
  for (let index = 0; index < 10; index += 1) {
    const { status, text } = await ingress.send({ id: `kept-${index}`, text: 'hello', isDetached: true })
    expect(status, text).toBe(200)
  }
  await new Promise(resolve => setTimeout(resolve, 3_000))
  const { items } = await ingress.ask<{ items: readonly MessageSummary[] }>('/messages?limit=50')
  expect(items.filter(({ id }) => id.startsWith('kept-')).map(({ state }) => state)).toEqual(
    Array.from({ length: 10 }, () => 'received'),
  )
  await worker.start()
  await untilAllAnswered(ingress, 30)
}, 90_000)
