// Tests two gateways that share one database.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { MessageRecord, MessageSummary } from '@postern/pipeline'
import type { Cluster } from '@postern/testing/postgres-cluster'
import { createCluster } from '@postern/testing/postgres-cluster'
import { afterEach, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import { openDatabaseProxy } from './database-proxy.ts'
import { checkAnswers, sendUntilAcknowledged, startLoad, untilAllAnswered } from './load.ts'
import type { Pair } from './pair.ts'
import { openPair } from './pair.ts'
import { runSql } from './run-sql.ts'

const stubborn = { use: join(import.meta.dirname, '../agents/waiting/stubborn.ts') }

let cluster: Cluster | undefined
let pair: Pair | undefined
afterEach(async () => {
  await pair?.close()
  pair = undefined
  await cluster?.remove()
})

/** Opens a server with durable commits, and two gateways on it. */
async function openClusterPair(): Promise<{ readonly pair: Pair; readonly cluster: Cluster }> {
  cluster = await createCluster({ programs: process.env.TEST_POSTGRES_PROGRAMS ?? '' })
  await cluster.start()
  pair = await openPair(cluster.url, { stubborn })
  return { pair, cluster }
}

test('two gateways on one database answer 500 messages once each, and each conversation in order', {
  timeout: 240_000,
}, async () => {
  const { gateways } = (await openClusterPair()).pair
  const [one, two] = gateways
  // Each conversation uses both gateways in turn; the last message of each waits for its answer.
  const conversations = Array.from({ length: 50 }, async (_, number) => {
    for (let index = 0; index < 10; index += 1) {
      const id = `c${number}-${index}`
      const answer = await gateways[index % 2]?.send({ id, text: id, context: `c${number}`, isDetached: index < 9 })
      expect(answer?.status, answer?.text).toBe(200)
      if (index === 9) expect(answer?.text).toContain(`heard ${id}`)
    }
  })
  await Promise.all(conversations)
  const messages = await untilAllAnswered(two, 500)
  expect(new Set(messages.map(({ id }) => id)).size).toBe(500)
  const threads = new Map<number, { readonly id: string; readonly at: string | undefined }[]>()
  for (const { id } of messages) {
    const record = await one.ask<MessageRecord>(`/messages/${encodeURIComponent(id)}`)
    expect(JSON.stringify(record.response?.parts)).toContain(`heard ${id}`)
    threads.set(record.thread, [...(threads.get(record.thread) ?? []), { id, at: record.response?.created_at }])
  }
  expect(threads.size).toBe(50)
  for (const entry of threads.values()) {
    const inOrder = entry.toSorted((a, b) => Number(a.id.split('-')[1]) - Number(b.id.split('-')[1]))
    const times = inOrder.map(({ at }) => at)
    expect(times).toEqual(times.toSorted())
  }
})

test('a gateway takes over the turn of a gateway that died within it, and answers once', {
  timeout: 240_000,
}, async () => {
  const { pair } = await openClusterPair()
  const [one, two] = pair.gateways
  // The second gateway is down, so that the first one leases the turn.
  await two.kill()
  await one.send({ id: 'm1', text: `hang ${pair.directory}`, isDetached: true })
  await eventually(async () => existsSync(join(pair.directory, 'hung')))
  await one.kill()
  await two.start()
  // This is long before the end of the lease, which lasts a minute.
  const [message] = await untilAllAnswered(two, 1, 30_000)
  expect(message?.id).toBe('m1')
  expect(await sendUntilAcknowledged([two], { id: 'm1', text: `hang ${pair.directory}` })).toMatchObject({
    status: 200,
  })
  const record = await two.ask<MessageRecord>('/messages/m1')
  expect([record.state, record.duplicates]).toEqual(['answered', 1])
})

/** Opens two gateways that preload these clock modules, and stops the second one. */
async function openClockedPair(clocks: Parameters<typeof openPair>[3]) {
  cluster = await createCluster({ programs: process.env.TEST_POSTGRES_PROGRAMS ?? '' })
  await cluster.start()
  pair = await openPair(cluster.url, { stubborn }, [{}, {}], clocks)
  await pair.gateways[1].kill()
  return pair
}

/** Expects that the second gateway, which starts during a turn of the first one, does not take the turn over. */
async function expectTurnKept({ gateways: [one, two], directory }: Awaited<ReturnType<typeof openPair>>) {
  await one.send({ id: 'm1', text: `hang ${directory}`, isDetached: true })
  await eventually(async () => existsSync(join(directory, 'hung')))
  await two.start()
  // Wait for several polls of the second gateway, which polls once a second.
  await delay(8_000)
  const record = await two.ask<MessageRecord>('/messages/m1')
  expect([record.state, record.response]).toEqual(['working', null])
  return two
}

test('a gateway whose clock is 61 seconds ahead does not take a turn that another one runs', {
  timeout: 120_000,
}, async () => {
  const clockedPair = await openClockedPair([
    undefined,
    pathToFileURL(join(import.meta.dirname, 'clock-ahead.ts')).href,
  ])
  const secondGateway = await expectTurnKept(clockedPair)
  await secondGateway.send({ id: 'm2', text: 'later', context: 'another' })
  expect((await secondGateway.ask<MessageRecord>('/messages/m2')).state).toBe('answered')
})

test.each([
  ['has just slept for 200 seconds', '', 0],
  ['was paused for 200 seconds, unknown to its clocks,', '?paused', 5_000],
])('a gateway whose machine %s keeps its turns', { timeout: 120_000 }, async (_state, kind, waitMs) => {
  const clockedPair = await openClockedPair([
    `${pathToFileURL(join(import.meta.dirname, 'clock-slept.ts')).href}${kind}`,
  ])
  const [one] = clockedPair.gateways
  one.pause()
  one.resume()
  await delay(waitMs)
  await expectTurnKept(clockedPair)
})

test('two gateways that die 30 times under 2,000 messages lose none, answer none twice, and keep the order', {
  timeout: 600_000,
}, async () => {
  const { pair, cluster } = await openClusterPair()
  const { gateways } = pair
  const load = startLoad(gateways)
  for (let kills = 0; kills < 30; kills += 1) {
    const killedGateway = gateways[kills % 2]
    await load.waitForAnswers(70)
    await killedGateway?.kill()
    await killedGateway?.start()
  }
  await load.waitForAnswers(70)
  await eventually(async () => load.acknowledged.length >= 2_000, 100_000)
  await checkAnswers([load], gateways[1], cluster.url)
})

test('two gateways store text that looks like an escaped surrogate unchanged, and replace lone surrogates', {
  timeout: 120_000,
}, async () => {
  const { gateways } = (await openClusterPair()).pair
  const [one, two] = gateways
  const texts = [String.raw`\ud83d`, String.raw`a \\ud83d b`, String.raw`{"a":"\\\ude00"}`, 'half \ud83d of \\ud83d']
  for (const [index, text] of texts.entries()) {
    const wellFormedText = text.toWellFormed()
    const { text: answerText } = await one.send({ id: `m${index}`, text, context: 'c' })
    expect(JSON.stringify(JSON.parse(answerText))).toContain(JSON.stringify(`heard ${wellFormedText}`))
    const record = await two.ask<MessageRecord>(`/messages/m${index}`)
    expect(record.message.parts).toMatchObject([{ content: wellFormedText }])
    expect(record.response?.parts).toMatchObject([{ content: `heard ${wellFormedText}` }])
    const { items } = await two.ask<{ items: readonly MessageSummary[] }>('/messages?limit=1')
    expect(items[0]?.preview).toBe(wellFormedText)
    const exported = await two.ask('/transcript?format=agui&thread=m0')
    expect(JSON.stringify(exported)).toContain(JSON.stringify(`heard ${wellFormedText}`))
  }
})

test('gateways tell senders to retry while the server is away, and later answer all acknowledged messages', {
  timeout: 240_000,
}, async () => {
  const { pair, cluster } = await openClusterPair()
  const { gateways } = pair
  let [isAway, isOver, refused, number] = [false, false, 0, 0]
  const acknowledged: string[] = []
  const senders = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      number += 1
      const message = { id: `m${number}`, text: `m${number}`, isDetached: true }
      const first = await gateways[number % 2]?.send(message)
      if (first?.status !== 200) {
        expect([first?.status, first?.retryAfter, isAway]).toEqual([503, '5', true])
        refused += 1
        await sendUntilAcknowledged(gateways, message)
      }
      acknowledged.push(message.id)
    }
  })
  // The race reports the error of a sender at once, instead of a time-out.
  const sending = Promise.all(senders)
  const whileSending = (probe: () => boolean) => Promise.race([sending, eventually(async () => probe(), 60_000)])
  await whileSending(() => acknowledged.length > 40)
  isAway = true
  await cluster.stop('immediate')
  await whileSending(() => refused >= 4)
  for (const gateway of gateways) {
    expect(await gateway.probe('/readyz')).toMatchObject({ status: 503, retryAfter: '5' })
    expect(await gateway.probe('/healthz')).toMatchObject({ status: 200 })
  }
  await cluster.start()
  for (const gateway of gateways) await eventually(async () => (await gateway.probe('/readyz')).status === 200)
  const acknowledgedBefore = acknowledged.length
  await whileSending(() => acknowledged.length > acknowledgedBefore + 40)
  isOver = true
  await sending
  const messages = await untilAllAnswered(pair.gateways[0], acknowledged.length)
  expect(messages.map(({ id }) => id).toSorted()).toEqual(acknowledged.toSorted())
  const text = await runSql(
    cluster.url,
    "SELECT count(*), count(DISTINCT answers) FROM postern.messages WHERE kind = 'response'",
  )
  expect(text).toBe(`${acknowledged.length}|${acknowledged.length}`)
})

test('a gateway notices within seconds that its server is silent, and refuses messages until it answers again', {
  timeout: 240_000,
}, async () => {
  cluster = await createCluster({ programs: process.env.TEST_POSTGRES_PROGRAMS ?? '' })
  await cluster.start()
  const wire = await openDatabaseProxy(cluster.port)
  pair = await openPair(cluster.url.replace(`:${cluster.port}/`, `:${wire.port}/`), { stubborn })
  const [one] = pair.gateways
  expect(await one.send({ id: 'm1', text: 'm1' })).toMatchObject({ status: 200 })
  expect(await one.probe('/readyz')).toMatchObject({ status: 200 })
  wire.silence()
  const pendingRefusal = one.send({ id: 'm2', text: 'm2' })
  expect(await one.probe('/readyz')).toMatchObject({ status: 503, retryAfter: '5' })
  expect(await one.probe('/healthz')).toMatchObject({ status: 200 })
  expect(await pendingRefusal).toMatchObject({ status: 503, retryAfter: '5' })
  wire.speak()
  await eventually(async () => (await one.probe('/readyz')).status === 200)
  expect(await sendUntilAcknowledged(pair.gateways, { id: 'm2', text: 'm2' })).toMatchObject({ status: 200 })
  const messages = await untilAllAnswered(one, 2)
  expect(messages.map(({ id }) => id).toSorted()).toEqual(['m1', 'm2'])
  await pair.close()
  await wire.close()
})

test('a gateway of an earlier release exits with an explanation once a newer one has changed the tables', {
  timeout: 120_000,
}, async () => {
  const { pair, cluster } = await openClusterPair()
  const [one] = pair.gateways
  expect(await one.send({ id: 'm1', text: 'm1' })).toMatchObject({ status: 200 })
  await runSql(cluster.url, 'UPDATE postern.store_version SET version = version + 1')
  expect(await one.send({ id: 'm2', text: 'm2' })).toMatchObject({ status: 503, retryAfter: '5' })
  expect(await one.waitForExit()).toEqual({
    code: 1,
    output: expect.stringMatching(/^store: a newer release has changed/m),
  })
})

test('a gateway that cannot start says why and exits, although the database is available', {
  timeout: 60_000,
}, async () => {
  cluster = await createCluster({ programs: process.env.TEST_POSTGRES_PROGRAMS ?? '' })
  await cluster.start()
  const opening = openPair(cluster.url, { nobody: { use: './nowhere.ts' } })
  await expect(opening).rejects.toThrow(/^the gateway ended with 1: agents\.nobody\.use: /)
})
