import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { MessageRecord, MessageSummary } from '@postern/pipeline'
import type { Simulation } from '@postern/simulation'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, operatorToken } from '../setup/gateway.ts'
import type { GatewayProcess } from '../setup/gateway-process.ts'
import type { KilledGateway } from '../setup/killed-gateway.ts'
import { openKilledGateway } from '../setup/killed-gateway.ts'

let setup: KilledGateway
let simulation: Simulation
let gateway: GatewayProcess
let url: string
const directory = mkdtempSync(join(tmpdir(), 'postern-lanes-'))

beforeAll(async () => {
  process.env.HELD_DIRECTORY = directory
  const agent = { use: fileURLToPath(new URL('../agents/waiting/held.ts', import.meta.url)) }
  const agents = { merge: { ...agent, queue: 'merge' }, interrupt: { ...agent, queue: 'interrupt' } }
  setup = await openKilledGateway({ overrides: { agents }, directory })
  ;({ simulation, gateway, url } = setup)
})
afterAll(() => setup.close())

const hold = (...args: readonly string[]) => writeFileSync(join(directory, 'held'), args.join('\n'))
const readStarted = () => readFileSync(join(directory, 'begun'), { encoding: 'utf8', flag: 'a+' }).split('\n')
const untilBegun = (text: string, times = 1) =>
  eventually(async () => readStarted().filter(line => line === text).length === times)

async function post(agent: string, text: string): Promise<string> {
  const context = `https://mastodon.test/contexts/${agent}`
  const to = `@${agent}@agents.test`
  const { objectId, status } = await simulation.fediverse.deliver({ to, text, context, visibility: 'direct' })
  expect(status).toBe(202)
  return objectId
}

async function restart(): Promise<void> {
  await gateway.kill()
  await gateway.start()
}

async function requestOperator<Answer>(path: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${operatorToken}` }
  return (await (await fetch(`${url}/operator/api${path}`, { headers })).json()) as Answer
}

async function recordOf(text: string): Promise<MessageRecord> {
  const { items: messages } = await requestOperator<{ items: MessageSummary[] }>('/messages?limit=500')
  const { message } = messages.find(({ preview }) => preview === text) as MessageSummary
  return requestOperator(`/messages/${encodeURIComponent(`#${message}`)}`)
}

/** Returns the verified answers that contain this text, by the post that they reply to. */
function answersWith(text: string): readonly unknown[] {
  return simulation.fediverse.received
    .filter(({ activity, verified }) => verified && JSON.stringify(activity).includes(text))
    .map(({ activity }) => (activity.object as { inReplyTo?: unknown }).inReplyTo)
}

test('after a kill during a merged turn, each of its messages gets exactly one answer', {
  timeout: 240_000,
}, async () => {
  hold('ann', 'ben')
  await post('merge', 'ann')
  await untilBegun('ann')
  await post('merge', 'ben')
  const lastPost = await post('merge', 'cat')
  await restart()
  await untilBegun('ann', 2)
  hold('ben')
  await untilBegun('ben + cat')
  await restart()
  await untilBegun('ben + cat', 2)
  await restart()
  await post('merge', 'dan')
  hold()
  await simulation.fediverse.awaitActivity(({ activity }) => JSON.stringify(activity).includes('heard dan'), 60_000)
  expect(answersWith('heard ann')).toHaveLength(1)
  expect(answersWith('heard ben + cat')).toEqual([lastPost])
  expect(answersWith('heard')).toHaveLength(3)
  const [ben, cat] = [await recordOf('ben'), await recordOf('cat')]
  expect([ben.state, cat.state]).toEqual(['answered', 'answered'])
  expect([ben.merged_into, ben.response?.id]).toEqual([cat.number, cat.response?.id])
})

test('after a kill that follows an interruption, only the newer message has an answer', {
  timeout: 240_000,
}, async () => {
  hold('eve', 'fay')
  await post('interrupt', 'eve')
  await untilBegun('eve')
  await post('interrupt', 'fay')
  await untilBegun('fay')
  await restart()
  await untilBegun('fay', 2)
  hold()
  await simulation.fediverse.awaitActivity(({ activity }) => JSON.stringify(activity).includes('heard fay'), 60_000)
  expect(answersWith('heard fay')).toHaveLength(1)
  expect(answersWith('heard eve')).toEqual([])
  expect(readStarted().filter(line => line === 'eve')).toHaveLength(1)
  expect(await recordOf('eve')).toMatchObject({ state: 'ignored', error: 'interrupted by a newer message' })
})
