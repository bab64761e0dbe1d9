import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TinyGateway } from '../../../test/tiny-gateway.ts'
import { openTinyGateway, readSignature } from '../../../test/tiny-gateway.ts'
import type { Simulation } from '../../index.ts'
import { openSimulation } from '../../index.ts'
import type { SimRequest } from '../../net/loopback-server.ts'

let simulation: Simulation
let gateway: TinyGateway

beforeAll(async () => {
  simulation = await openSimulation()
  gateway = await openTinyGateway(simulation)
})
afterAll(async () => {
  await Promise.all([simulation.close(), gateway.close()])
})

const to = '@echo@agents.test'
const alice = 'https://mastodon.test/users/alice'
const posted = () => gateway.posted.at(-1) as SimRequest
const readPosted = () => JSON.parse(posted().body.toString())

test.each(['Follow', 'Block'])('a persona signs a %s of the agent and posts it like a note', async type => {
  const { activity, activityId, status } = await simulation.fediverse.send({ to, type })
  expect(status).toBe(202)
  expect(activity).toMatchObject({ id: activityId, type, actor: alice, object: gateway.actorId })
  expect(readPosted()).toEqual(activity)
  expect(posted().target).toBe('/agents/echo/inbox')
  const key = await simulation.fediverse.actors.get('alice@mastodon.test')?.key()
  expect(readSignature(posted()).holds(key?.publicPem ?? '')).toBe(true)
})

test('a persona can undo its activities, also at the shared inbox', async () => {
  const object = (await simulation.fediverse.send({ to, type: 'Follow' })).activity
  const undo = await simulation.fediverse.send({ to, type: 'Undo', object, inbox: 'shared' })
  expect(readPosted()).toMatchObject({ type: 'Undo', actor: alice, object })
  expect(posted().target).toBe('/inbox')
  expect(undo.activityId).not.toBe(object.id)
})

test('a persona can like a post in private and boost it in public', async () => {
  const object = 'https://agents.test/agents/echo/posts/1'
  expect((await simulation.fediverse.send({ to, type: 'Like', object })).activity.to).toBeUndefined()
  const { activity } = await simulation.fediverse.send({ to, type: 'Announce', object })
  expect(activity).toMatchObject({
    object,
    to: ['https://www.w3.org/ns/activitystreams#Public'],
    cc: [`${alice}/followers`, gateway.actorId],
  })
})

test('an edit or a deletion of a note also changes its public copy', async () => {
  const { objectId, activity } = await simulation.fediverse.deliver({ to, text: 'hello' })
  const read = () => simulation.loopback.request(objectId)
  const object = { ...activity.object, content: '<p>hello again</p>' }
  await simulation.fediverse.send({ to, type: 'Update', object })
  expect(JSON.parse((await read()).body.toString()).content).toBe('<p>hello again</p>')
  await simulation.fediverse.send({ to, type: 'Delete', object: { id: objectId, type: 'Tombstone' } })
  expect((await read()).status).toBe(404)
})

test('a forged Delete does not remove a note', async () => {
  const { objectId } = await simulation.fediverse.deliver({ to, text: 'hello' })
  await simulation.fediverse.send({ to, type: 'Delete', object: objectId, fault: 'forged' })
  expect((await simulation.loopback.request(objectId)).status).toBe(200)
})

test('a test can add or replace members of an activity', async () => {
  const fields = { id: `${alice}#move`, target: 'https://gotosocial.test/users/alice', to: [] }
  const { activity } = await simulation.fediverse.send({ to, type: 'Move', object: alice, fields })
  expect(activity).toMatchObject({ type: 'Move', object: alice, ...fields })
})

test('an activity of any type can have the faults of a note', async () => {
  await simulation.fediverse.send({ to, type: 'Follow', fault: 'wrong_owner' })
  expect(readPosted().actor).toBe(alice)
  expect(readSignature(posted()).keyId).toBe('https://evil.test/users/mallory#main-key')
  await simulation.fediverse.send({ to, type: 'Follow', fault: 'deep' })
  expect(posted().body.toString()).toContain('['.repeat(2_000))
})

test.each(['Accept', 'Undo', 'Update', 'Delete'])('the simulation verifies and keeps the gateway’s %s', async type => {
  const activity = { id: `https://agents.test/agents/echo#${type}`, type, actor: gateway.actorId, object: alice }
  expect(await gateway.post(`${alice}/inbox`, activity)).toBe(202)
  expect(simulation.fediverse.received.at(-1)).toMatchObject({ verified: true, activity })
})
