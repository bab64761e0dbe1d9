// Tests that a gateway that crashes in a turn completes the turn after its restart.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessageSummary } from '@postern/pipeline'
import type { Cluster } from '@postern/testing/postgres-cluster'
import { createCluster } from '@postern/testing/postgres-cluster'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import {
  checkAnswerStored,
  checkMessageNotStored,
  checkMessageStored,
  crashingAgents,
  openCrashFiles,
  stepsBeforeCommit,
  transactionWatch,
} from '../crash/dying-gateway.ts'
import { makeGateway, openPair } from './pair.ts'

const directory = mkdtempSync(join(tmpdir(), 'postern-dying-'))
const crashFiles = openCrashFiles(directory)
let cluster: Cluster
let schemaCount = 0

beforeAll(async () => {
  cluster = await createCluster({ programs: process.env.TEST_POSTGRES_PROGRAMS ?? '' })
  await cluster.start()
  process.env.DYING_DIRECTORY = directory
  process.env.DYING_SERVER_PORT = String(cluster.port)
}, 120_000)
afterAll(async () => {
  await cluster?.remove()
  rmSync(directory, { recursive: true, force: true })
})

/** Returns the URL of a new schema, in which no gateway has crashed. */
function createSchemaUrl(): string {
  const url = new URL(cluster.url)
  schemaCount += 1
  url.searchParams.set('schema', `dying_${schemaCount}`)
  return url.href
}

async function startGateway(agent: keyof typeof crashingAgents) {
  const settings = { store: createSchemaUrl(), agents: crashingAgents, default_agent: agent }
  const gateway = await makeGateway({ directory, name: `gateway-${schemaCount}`, settings, preload: transactionWatch })
  onTestFinished(() => gateway.kill())
  await gateway.start()
  return gateway
}

test.each(stepsBeforeCommit)(
  'after a crash %s, the store lacks the message, and the gateway answers once when the peer sends the message again',
  async step => checkMessageNotStored(await startGateway('dying'), crashFiles, step),
)

test('after a crash after the commit, the store has the message with its answer, which a repetition gets', async () =>
  checkAnswerStored(await startGateway('dying'), crashFiles))

test('in the hour after a crash, a gateway stores messages before it passes them to agents', async () => {
  const gateway = await startGateway('dying')
  await checkMessageNotStored(gateway, crashFiles, 'before the agent answers')
  await checkMessageStored(gateway, crashFiles)
})

test('with `before_agent`, a gateway that crashes before the agent answers has stored the message', async () =>
  checkMessageStored(await startGateway('careful'), crashFiles))

test('two gateways that receive a message simultaneously store and answer it once', async () => {
  const pair = await openPair(createSchemaUrl(), crashingAgents, [
    { default_agent: 'dying' },
    { default_agent: 'dying' },
  ])
  onTestFinished(pair.close)
  const ids = Array.from({ length: 20 }, (_, index) => `twice ${index}`)
  const send = (id: string) => pair.gateways.map(gateway => gateway.send({ id, text: 'hello' }))
  for (const { text } of await Promise.all(ids.flatMap(send))) expect(text).toContain('answered')
  const { items } = await pair.gateways[0].ask<{ items: readonly MessageSummary[] }>('/messages?limit=500')
  const messagesSentTwice = items.filter(({ id }) => id.startsWith('twice'))
  expect(messagesSentTwice.map(({ id }) => id).sort()).toEqual(ids.sort())
  expect(messagesSentTwice.every(({ state }) => state === 'answered')).toBe(true)
})
