import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessageSummary } from '@postern/pipeline'
import type { Cluster } from '@postern/testing/postgres-cluster'
import { createCluster } from '@postern/testing/postgres-cluster'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { checkKeptMessage, checkLostMessage, deathSteps, dyingAgents, openDeathFiles } from '../crash/dying-gateway.ts'
import { makeGateway, openPair } from './pair.ts'

const directory = mkdtempSync(join(tmpdir(), 'postern-dying-'))
const files = openDeathFiles(directory)
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

async function startGateway(agent: keyof typeof dyingAgents) {
  const settings = { store: createSchemaUrl(), agents: dyingAgents, default_agent: agent }
  const gateway = await makeGateway({ directory, name: `gateway-${schemaCount}`, settings })
  onTestFinished(() => gateway.kill())
  await gateway.start()
  return gateway
}

test.each(deathSteps)(
  'a gateway that dies %s has not stored the message, and answers it once when it comes again',
  async step => checkLostMessage(await startGateway('dying'), files, step),
)

test('in the hour after a crash, a gateway stores messages before agents get them', async () => {
  const gateway = await startGateway('dying')
  await checkLostMessage(gateway, files, 'before the agent answers')
  await checkKeptMessage(gateway, files)
})

test('with `before_agent`, a gateway that dies before the agent answers has stored the message', async () =>
  checkKeptMessage(await startGateway('careful'), files))

test('two gateways that receive a message simultaneously store and answer it once', async () => {
  const pair = await openPair(createSchemaUrl(), dyingAgents, [{ default_agent: 'dying' }, { default_agent: 'dying' }])
  onTestFinished(pair.close)
  const ids = Array.from({ length: 20 }, (_, index) => `twice ${index}`)
  const send = (id: string) => pair.gateways.map(gateway => gateway.send({ id, text: 'hello' }))
  for (const { text } of await Promise.all(ids.flatMap(send))) expect(text).toContain('answered')
  const { items } = await pair.gateways[0].ask<{ items: readonly MessageSummary[] }>('/messages?limit=500')
  const twiceSent = items.filter(({ id }) => id.startsWith('twice'))
  expect(twiceSent.map(({ id }) => id).sort()).toEqual(ids.sort())
  expect(twiceSent.every(({ state }) => state === 'answered')).toBe(true)
})
