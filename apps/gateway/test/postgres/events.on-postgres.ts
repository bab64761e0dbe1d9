// Tests the operator's events of several gateways on one database.
import type { Cluster } from '@postern/testing/postgres-cluster'
import { createCluster } from '@postern/testing/postgres-cluster'
import { afterEach, expect, test } from 'vitest'
import type { OperatorEvent } from '../operator/read-events.ts'
import type { Pair } from './pair.ts'
import { openPair } from './pair.ts'

let cluster: Cluster | undefined
let pair: Pair | undefined
afterEach(async () => {
  await pair?.close()
  await cluster?.remove()
})

const isOf = (id: string, kind: string) => (event: OperatorEvent) => event.kind === kind && event.data.id === id

test('a reader receives events of both gateways from either, and can continue at the other', {
  timeout: 180_000,
}, async () => {
  cluster = await createCluster({ programs: process.env.TEST_POSTGRES_PROGRAMS ?? '' })
  await cluster.start()
  pair = await openPair(cluster.url, { echo: { use: 'builtin:echo' } })
  const [one, two] = pair.gateways
  const readers = await Promise.all([one.follow(), two.follow()])
  for (const reader of readers) expect((await reader.next()).kind).toBe('ready')
  // In the first seconds of a gateway, another one cannot know whether it has all events.
  await new Promise(resolve => setTimeout(resolve, 6_000))
  expect((await one.send({ id: 'at-one', text: 'hello' })).status).toBe(200)
  expect((await two.send({ id: 'at-two', text: 'hello' })).status).toBe(200)
  for (const reader of readers) {
    const messages = [await reader.next(({ kind }) => kind === 'message')]
    messages.push(await reader.next(({ kind }) => kind === 'message'))
    expect(messages.map(({ data }) => data.id).sort()).toEqual(['at-one', 'at-two'])
    await reader.next(({ kind, data }) => kind === 'turn' && data.state === 'answered')
    reader.close()
  }
  const { id: lastId } = readers[0].receivedEvents.at(-1) as OperatorEvent
  expect((await two.send({ id: 'missed', text: 'hello' })).status).toBe(200)
  for (const gateway of pair.gateways) {
    const secondEvents = await gateway.follow(lastId)
    expect((await secondEvents.next()).kind).toBe('ready')
    await secondEvents.next(isOf('missed', 'message'))
    secondEvents.close()
  }
})
