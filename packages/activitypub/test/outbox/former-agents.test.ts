import { Hono } from 'hono'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { activityPubConfigSchema, openActivityPub } from '../../src/index.ts'
import { origin } from '../gateway.ts'
import { composeNote, postActivity } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// An agent that was configured once and is no more.

let stage: Stage
let app: Hono

const echo = `${origin}/agents/echo`
const accept = 'application/activity+json'

beforeEach(async () => {
  stage = await openStage()
  const { gateway } = stage
  // Its keys are made at the first request.
  expect((await gateway.app.request('/agents/echo', { headers: { accept } })).status).toBe(200)
  const list = gateway.agents.list().filter(({ name }) => name !== 'echo')
  const agents = {
    ...gateway.agents,
    list: () => list,
    find: (name: string) => list.find(agent => agent.name === name),
  }
  const later = openActivityPub(activityPubConfigSchema.parse({}), {
    channels: [],
    platform: gateway.platform,
    store: gateway.store,
    admission: { rules: [], store: gateway.store },
    decisions: gateway.store,
    agents,
  })
  app = new Hono().route('/', later.routes)
})
afterEach(() => stage.close())

test('its actor is a Tombstone', async () => {
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
  'its %s is gone',
  async path => {
    const answer = await app.request(`${origin}/agents/echo/${path}`)
    expect(answer.status).toBe(410)
    expect(await answer.json()).toMatchObject({ id: `${echo}/${path.replace(/\?.*/, '')}`, type: 'Tombstone' })
  },
)

test('its inbox accepts nothing more, and looks nobody up', async () => {
  const { gateway, alice, peer } = stage
  const answer = await postActivity({ ...gateway, app }, alice, composeNote(alice))
  expect(answer.status).toBe(410)
  expect(peer.requests).toEqual([])
  expect(await stage.stored()).toEqual([])
})

test('the shared inbox accepts activities for others', async () => {
  const { gateway, alice } = stage
  const help = `${origin}/agents/help`
  const note = composeNote(alice, { cc: [help] })
  expect((await postActivity({ ...gateway, app }, alice, note, { path: '/inbox' })).status).toBe(202)
  expect(await stage.stored()).toMatchObject([{ message: { recipient: '@help@agents.test' } }])
})

test.each(['nobody', 'ECHO', 'constructor', '__proto__', 'echo%23main-key'])('%s never was', async name => {
  const answer = await app.request(`${origin}/agents/${name}`, { headers: { accept } })
  expect(answer.status).toBe(404)
  expect((await app.request(`${origin}/agents/${name}/outbox`)).status).toBe(404)
})

test('the others are as they were, and it can come back', async () => {
  expect((await app.request(`${origin}/agents/help`, { headers: { accept } })).status).toBe(200)
  expect((await stage.gateway.app.request('/agents/echo', { headers: { accept } })).status).toBe(200)
})
