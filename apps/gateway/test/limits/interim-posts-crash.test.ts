import { fileURLToPath } from 'node:url'
import { disturbances } from '@postern/simulation'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { KilledGateway } from '../setup/killed-gateway.ts'
import { openKilledGateway } from '../setup/killed-gateway.ts'

// These tests check that interim posts of a turn that ends without an answer are withdrawn, even if the process dies at that moment.

let setup: KilledGateway
beforeAll(async () => {
  const use = fileURLToPath(new URL('../agents/waiting/teller.ts', import.meta.url))
  setup = await openKilledGateway({ overrides: { agents: { teller: { use, queue: 'interrupt' } } } })
})
afterAll(() => setup.close())

const to = '@teller@agents.test'

async function post(text: string, context: string): Promise<string> {
  const plan = { to, text, context: `https://mastodon.test/contexts/${context}`, visibility: 'direct' } as const
  const { objectId, status } = await setup.simulation.fediverse.deliver(plan)
  expect(status).toBe(202)
  return objectId
}

/** Returns the post with this text, once its server has it. */
async function postOf(text: string): Promise<string> {
  const { fediverse } = setup.simulation
  const { activity } = await fediverse.awaitActivity(
    activity => JSON.stringify(activity.activity).includes(text),
    30_000,
  )
  return String((activity.object as { readonly id?: string }).id)
}

const listDeletions = (object: string) =>
  setup.simulation.fediverse.received.filter(
    ({ activity, verified }) => verified && activity.type === 'Delete' && JSON.stringify(activity).includes(object),
  )

/** Kills the gateway right after `end`, while nothing reaches the peer, and restarts it. */
async function dieAfter(endGateway: () => Promise<unknown>): Promise<void> {
  const heal = setup.simulation.fediverse.disturb('mastodon.test', { ...disturbances.slow(600_000), path: /inbox/ })
  await endGateway()
  await setup.gateway.kill()
  heal()
  await setup.gateway.start()
}

test('after a kill that follows the deletion of a message, the gateway withdraws its interim posts', {
  timeout: 240_000,
}, async () => {
  const object = await post('a map', 'deleted')
  const text = await postOf('looking for a map')
  await dieAfter(() =>
    setup.simulation.fediverse.send({ to, type: 'Delete', object: { id: object, type: 'Tombstone' } }),
  )
  await eventually(async () => listDeletions(text).length > 0)
})

test('after a kill that follows an interruption, the gateway withdraws the interim posts of the older turn', {
  timeout: 240_000,
}, async () => {
  await post('a key', 'interrupted')
  const text = await postOf('looking for a key')
  await dieAfter(() => post('the key is found', 'interrupted'))
  await eventually(async () => listDeletions(text).length > 0)
  await postOf('the key is found')
})

test('after a kill between a postponed try and the deletion of its message, the gateway withdraws the interim posts', {
  timeout: 240_000,
}, async () => {
  const object = await post('a coin for later', 'put off')
  const text = await postOf('looking for a coin')
  await setup.gateway.kill()
  await setup.gateway.start()
  await setup.simulation.fediverse.send({ to, type: 'Delete', object: { id: object, type: 'Tombstone' } })
  await eventually(async () => listDeletions(text).length > 0)
})
