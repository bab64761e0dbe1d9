import type { Channel } from '@postern/pipeline'
import { Hono } from 'hono'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { activityPubConfigSchema, openActivityPub } from '../../src/index.ts'
import { origin } from '../gateway.ts'
import { composeNote, postActivity } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// An agent that has left the configuration is reported as deleted.

let stage: Stage
let app: Hono
let later: Channel<Hono>

const echo = `${origin}/agents/echo`
const accept = 'application/activity+json'

beforeEach(async () => {
  stage = await openStage()
  const { gateway } = stage
  // The agent's keys are made at the first request.
  expect((await gateway.app.request('/agents/echo', { headers: { accept } })).status).toBe(200)
  const list = gateway.agents.list().filter(({ name }) => name !== 'echo')
  const agents = {
    ...gateway.agents,
    list: () => list,
    find: (name: string) => list.find(agent => agent.name === name),
  }
  later = openActivityPub(activityPubConfigSchema.parse({}), {
    channels: [],
    system: gateway.system,
    store: gateway.store,
    admission: { rules: [], store: gateway.store },
    decisions: gateway.store,
    agents,
  })
  app = new Hono().route('/', later.endpoint.routes)
})
afterEach(() => stage.close())

test('the actor of a removed agent is a Tombstone', async () => {
  const answer = await app.request(`${origin}/agents/echo`, { headers: { accept } })
  expect(answer.status).toBe(410)
  expect(answer.headers.get('content-type')).toBe('application/activity+json; charset=utf-8')
  expect(await answer.json()).toEqual({
    '@context': 'https://www.w3.org/ns/activitystreams',
    id: echo,
    type: 'Tombstone',
    formerType: 'Service',
  })
})

test.each(['outbox', 'outbox?page=true', 'followers', 'following', 'featured', 'posts/1', 'posts/1/activity'])(
  'the %s of a removed agent returns 410',
  async path => {
    const answer = await app.request(`${origin}/agents/echo/${path}`)
    expect(answer.status).toBe(410)
    expect(await answer.json()).toMatchObject({ id: `${echo}/${path.replace(/\?.*/, '')}`, type: 'Tombstone' })
  },
)

test('the inbox of a removed agent refuses every activity without a fetch', async () => {
  const { gateway, alice, peer } = stage
  const answer = await postActivity({ ...gateway, app }, alice, composeNote(alice))
  expect(answer.status).toBe(410)
  expect(peer.requests).toEqual([])
  expect(await stage.listStoredMessages()).toEqual([])
})

test('the shared inbox accepts activities for others', async () => {
  const { gateway, alice } = stage
  const help = `${origin}/agents/help`
  const note = composeNote(alice, { cc: [help] })
  expect((await postActivity({ ...gateway, app }, alice, note, { path: '/inbox' })).status).toBe(202)
  expect(await stage.listStoredMessages()).toMatchObject([{ message: { recipient: '@help@agents.test' } }])
})

test.each(['nobody', 'ECHO', 'constructor', '__proto__', 'echo%23main-key'])(
  'the actor of the unknown agent %s returns 404',
  async name => {
    const answer = await app.request(`${origin}/agents/${name}`, { headers: { accept } })
    expect(answer.status).toBe(404)
    expect((await app.request(`${origin}/agents/${name}/outbox`)).status).toBe(404)
  },
)

test('other agents stay available, and a removed agent can return', async () => {
  expect((await app.request(`${origin}/agents/help`, { headers: { accept } })).status).toBe(200)
  expect((await stage.gateway.app.request('/agents/echo', { headers: { accept } })).status).toBe(200)
})

test('announceRemoval() notifies each inbox of followers and answered people once', async () => {
  const { gateway, alice, mallory, peer } = stage
  for (const inbox of [
    'good.test/inbox',
    'good.test/users/alice/inbox',
    'evil.test/inbox',
    'evil.test/users/mallory/inbox',
  ])
    peer.serve(`https://${inbox}`, { status: 202 })
  gateway.work()
  const followed = composeNote(alice, {}, { type: 'Follow', object: echo })
  await postActivity(gateway, alice, followed)
  await postActivity(gateway, alice, composeNote(alice))
  await postActivity(gateway, mallory, composeNote(mallory))
  const posted = (type: string) =>
    peer.requests.filter(({ method, body }) => method === 'POST' && JSON.parse(body).type === type)
  await vi.waitFor(() => expect([...posted('Accept'), ...posted('Create')]).toHaveLength(4))
  await later.actions?.announceRemoval?.('echo')
  await vi.waitFor(() => expect(posted('Delete')).toHaveLength(2))
  expect(
    posted('Delete')
      .map(({ host, path }) => host + path)
      .toSorted(),
  ).toEqual(['evil.test/inbox', 'good.test/inbox'])
  const [{ body = '', headers = {} } = {}] = posted('Delete')
  expect(JSON.parse(body)).toMatchObject({
    actor: echo,
    object: echo,
    proof: { verificationMethod: `${echo}#ed25519-key` },
  })
  expect(headers.signature).toContain(`keyId="${echo}#main-key"`)
})

test('announceRemoval() sends nothing for an agent that exists or never existed', async () => {
  await later.actions?.announceRemoval?.('help')
  await later.actions?.announceRemoval?.('nobody')
  expect(await stage.gateway.store.listDeliveries({ limit: 10 })).toEqual([])
})
