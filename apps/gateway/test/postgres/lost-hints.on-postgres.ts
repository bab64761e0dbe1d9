// Tests gateways that lose the database's notifications.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Simulation } from '@postern/simulation'
import { openSimulation } from '@postern/simulation'
import type { Cluster } from '@postern/testing/postgres-cluster'
import { createCluster } from '@postern/testing/postgres-cluster'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeTestConfig, eventually, gatewayOrigin, operatorToken } from '../setup/gateway.ts'
import { decide, findActionPath } from '../setup/requirement-steps.ts'
import type { DatabaseProxy } from './database-proxy.ts'
import { openDatabaseProxy } from './database-proxy.ts'
import type { Pair, PairedGateway } from './pair.ts'
import { openPair } from './pair.ts'

// These tests run two gateways, one that accepts messages and one that works, and no notification of the server reaches either of them.

let cluster: Cluster
let wire: DatabaseProxy
let simulation: Simulation
let pair: Pair
let ingress: PairedGateway
let worker: PairedGateway
const directory = mkdtempSync(join(tmpdir(), 'postern-hints-'))

beforeAll(async () => {
  process.env.HELD_DIRECTORY = directory
  cluster = await createCluster({ programs: process.env.TEST_POSTGRES_PROGRAMS ?? '' })
  await cluster.start()
  wire = await openDatabaseProxy(cluster.port, { losesHints: true })
  simulation = await openSimulation()
  const {
    listen: _,
    data: __,
    a2a: ___,
    ...rest
  } = describeTestConfig(simulation, directory, { log: { level: 'error' } })
  const agent = { use: join(import.meta.dirname, '../agents/waiting/held.ts') }
  const agents = {
    held: agent,
    interrupt: { ...agent, queue: 'interrupt' },
    decider: { use: join(import.meta.dirname, '../agents/asking/decider.ts') },
  }
  const configOf = (role: string) => ({ ...rest, agents, default_agent: 'held', roles: [role] })
  pair = await openPair(cluster.url.replace(`:${cluster.port}/`, `:${wire.port}/`), agents, [
    configOf('ingress'),
    configOf('worker'),
  ])
  ;[ingress, worker] = pair.gateways
  simulation.connectGateway({ origin: gatewayOrigin, port: Number(new URL(ingress.url).port), intakeSecret: '' })
}, 120_000)
afterAll(async () => {
  await pair.close()
  await simulation.close()
  await wire.close()
  await cluster.remove()
  rmSync(directory, { recursive: true })
  expect(wire.lostHints()).toBeGreaterThan(20)
})

const hold = (...args: readonly string[]) => writeFileSync(join(directory, 'held'), args.join('\n'))
const readNoted = (file: 'begun' | 'ended') =>
  readFileSync(join(directory, file), { encoding: 'utf8', flag: 'a+' }).split('\n')
/** A lost hint costs five seconds; a lease would last a minute. */
const secondsMs = 15_000
const waitForFile = (file: 'begun' | 'ended', text: string) =>
  eventually(async () => readNoted(file).includes(text), secondsMs)

/** Posts a text that the agent holds, and returns once its turn has begun. */
async function postHeld(agent: string, text: string) {
  hold(text)
  const postedReceipt = await post(agent, text)
  await waitForFile('begun', text)
  return postedReceipt
}

async function post(agent: string, text: string) {
  const context = `https://mastodon.test/contexts/${agent}`
  const postedReceipt = await simulation.fediverse.deliver({
    to: `@${agent}@agents.test`,
    text,
    context,
    visibility: 'direct',
  })
  expect(postedReceipt.status).toBe(202)
  return postedReceipt
}

const answersTo = (objectId: string) =>
  simulation.fediverse.received.filter(
    ({ activity, verified }) => verified && JSON.stringify(activity).includes(`"inReplyTo":"${objectId}"`),
  )

async function setPaused(action: 'pause' | 'resume') {
  const headers = { authorization: `Bearer ${operatorToken}` }
  const response = await fetch(`${ingress.url}/operator/api/agents/held/${action}`, { method: 'POST', headers })
  expect(response.status, await response.text()).toBe(200)
}

const isPausedAt = async ({ ask }: PairedGateway) => {
  const { items: agents } = await ask<{ items: readonly { readonly name: string; readonly is_paused: boolean }[] }>(
    '/agents',
  )
  return agents.find(({ name }) => name === 'held')?.is_paused
}

test('a pause and its end reach the working gateway', async () => {
  await setPaused('pause')
  await eventually(() => isPausedAt(worker), secondsMs)
  const { objectId } = await post('held', 'waits for the agent')
  await delay(3_000)
  expect(readNoted('begun')).not.toContain('waits for the agent')
  await setPaused('resume')
  await simulation.fediverse.awaitReply(objectId, 30_000)
})

test('an edit ends a running turn at once, and the agent gets the new text', async () => {
  const { objectId, activity } = await postHeld('held', 'misspelt')
  const object = { ...(activity.object as object), content: '<p>well spelt</p>', contentMap: undefined }
  await simulation.fediverse.send({ to: '@held@agents.test', type: 'Update', object })
  await waitForFile('ended', 'misspelt')
  const { activity: answer } = await simulation.fediverse.awaitReply(objectId, 30_000)
  expect(JSON.stringify(answer)).toContain('heard well spelt')
})

test('a deletion ends a running turn without an answer', async () => {
  const { objectId } = await postHeld('held', 'regretted')
  await simulation.fediverse.send({
    to: '@held@agents.test',
    type: 'Delete',
    object: { id: objectId, type: 'Tombstone' },
  })
  await waitForFile('ended', 'regretted')
  hold()
  const next = await post('held', 'goes on')
  await simulation.fediverse.awaitReply(next.objectId, 30_000)
  expect(answersTo(objectId)).toEqual([])
})

test('a newer message interrupts a turn', async () => {
  const first = await postHeld('interrupt', 'old question')
  const second = await post('interrupt', 'new question')
  await waitForFile('ended', 'old question')
  const { activity } = await simulation.fediverse.awaitReply(second.objectId, 30_000)
  expect(JSON.stringify(activity)).toContain('heard new question')
  expect(answersTo(first.objectId)).toEqual([])
})

test('a caller cancels a turn', async () => {
  hold('to be canceled')
  const { text, status } = await ingress.send({ id: randomUUID(), text: 'to be canceled', isDetached: true })
  expect(status, text).toBe(200)
  await waitForFile('begun', 'to be canceled')
  const { result } = JSON.parse(text) as { readonly result: { readonly task: { readonly id: string } } }
  const canceled = await ingress.call('CancelTask', { id: result.task.id })
  expect(canceled.text).toContain('TASK_STATE_CANCELED')
  await waitForFile('ended', 'to be canceled')
})

test('an answer to a question of the agent reaches it', async () => {
  const { objectId } = await post('decider', 'may I')
  const { activity } = await simulation.fediverse.awaitReply(objectId, 30_000)
  const action = findActionPath(String((activity.object as { content?: string }).content))
  expect((await decide({ url: () => ingress.url }, action, 'grant')).status).toBe(200)
  await eventually(async () => JSON.stringify(answersTo(objectId)).includes('decided: granted'))
})

test('an agent signs only with its new keys after its operator has revoked the old ones', async () => {
  const keyAt = async ({ url }: PairedGateway) => {
    const response = await fetch(`${url}/agents/held`, { headers: { accept: 'application/activity+json' } })
    return ((await response.json()) as { readonly publicKey: { readonly id: string } }).publicKey.id
  }
  const former = await keyAt(worker)
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ agent: 'held', revoke: true })
  const response = await fetch(`${ingress.url}/operator/api/keys/rotate`, { method: 'POST', headers, body })
  expect(response.status, await response.text()).toBe(200)
  expect(await keyAt(ingress)).not.toBe(former)
  await eventually(async () => (await keyAt(worker)) !== former, secondsMs)
  const { objectId } = await post('held', 'signed anew')
  await simulation.fediverse.awaitReply(objectId, 30_000)
})
