import { createPublicKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { activityPubConfigSchema } from '../../src/index.ts'
import { origin } from '../gateway.ts'
import { composeNote, postActivity } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

let stage: Stage

beforeAll(async () => {
  stage = await openStage()
  stage.peer.serve('https://good.test/inbox', { status: 202 })
  stage.peer.serve('https://good.test/users/alice/inbox', { status: 202 })
  stage.gateway.work()
})
afterAll(() => stage.close())

const activityHeaders = { accept: 'application/activity+json' }
const echo = `${origin}/agents/echo`

async function fetchDocument(path: string, headers: Record<string, string> = activityHeaders) {
  const response = await stage.gateway.app.request(path, { headers })
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
}

test('an agent is a Service with a key, inboxes and its collections', async () => {
  const { status, headers, body } = await fetchDocument('/agents/echo')
  expect(status).toBe(200)
  expect(headers.get('content-type')).toBe('application/activity+json; charset=utf-8')
  expect(headers.get('vary')).toBe('Accept')
  expect(body).toMatchObject({
    id: echo,
    type: 'Service',
    preferredUsername: 'echo',
    name: 'The echo',
    summary: '<p>It is echo.</p>',
    url: echo,
    inbox: `${echo}/inbox`,
    outbox: `${echo}/outbox`,
    followers: `${echo}/followers`,
    following: `${echo}/following`,
    featured: `${echo}/featured`,
    endpoints: { sharedInbox: `${origin}/inbox` },
    manuallyApprovesFollowers: false,
    discoverable: false,
    indexable: false,
    publicKey: { id: `${echo}#main-key`, owner: echo },
    assertionMethod: [{ id: `${echo}#ed25519-key`, type: 'Multikey', controller: echo }],
  })
  expect(body['@context']).toContain('https://www.w3.org/ns/did/v1')
  expect(body.assertionMethod[0].publicKeyMultibase).toMatch(/^z6Mk/)
  expect(Date.parse(body.published)).not.toBeNaN()
  expect(createPublicKey(body.publicKey.publicKeyPem).asymmetricKeyDetails?.modulusLength).toBe(2048)
  expect((await fetchDocument('/agents/echo')).body).toEqual(body)
})

test.each([
  'application/activity+json',
  'application/ld+json; profile="https://www.w3.org/ns/activitystreams"',
  'application/ld+json',
  'application/activity+json, application/ld+json; profile="https://www.w3.org/ns/activitystreams", text/html;q=0.1',
])('a client that accepts %s gets the actor', async accept => {
  expect((await fetchDocument('/agents/echo', { accept })).body).toMatchObject({ type: 'Service' })
})

test.each(['text/html,application/xhtml+xml,*/*;q=0.8', '*/*', 'application/json', ''])(
  'a client that accepts %s gets no actor document',
  async accept => {
    const { status, headers } = await fetchDocument('/agents/echo', { accept })
    expect(status).toBe(404)
    expect(headers.get('vary')).toBe('Accept')
  },
)

test.each(['/agents/nobody', '/agents/nobody/outbox', '/agents/nobody/followers', '/agents/nobody/posts/1'])(
  'an unknown agent has no %s',
  async path => {
    expect(await fetchDocument(path)).toMatchObject({ status: 404, body: { code: 'no_recipient' } })
  },
)

test('everyone can read the instance actor', async () => {
  expect((await fetchDocument('/actor', {})).body).toMatchObject({
    id: `${origin}/actor`,
    type: 'Application',
    preferredUsername: 'agents.test',
    inbox: `${origin}/inbox`,
    publicKey: { id: `${origin}/actor#main-key`, owner: `${origin}/actor` },
  })
})

test('the instance actor has an empty outbox, and an inbox that stores nothing', async () => {
  const { body: actor } = await fetchDocument('/actor', {})
  const pathOf = (iri: string) => new URL(iri).pathname
  expect((await fetchDocument(pathOf(actor.outbox), {})).body).toEqual({
    '@context': 'https://www.w3.org/ns/activitystreams',
    id: actor.outbox,
    type: 'OrderedCollection',
    totalItems: 0,
    orderedItems: [],
  })
  const { gateway, alice } = stage
  for (const type of ['Follow', 'Block', 'Create']) {
    const activity = { ...composeNote(alice, { to: [actor.id], cc: [], tag: [] }, { to: [actor.id], cc: [] }), type }
    const postedActivity = type === 'Create' ? activity : { ...activity, object: actor.id }
    expect(await postActivity(gateway, alice, postedActivity, { path: pathOf(actor.inbox) })).toMatchObject({
      status: 202,
    })
  }
  expect(await stage.listStoredMessages()).toEqual([])
})

test.each(['followers', 'following'])('the collection %s shows a total without members', async collection => {
  const { body } = await fetchDocument(`/agents/echo/${collection}`)
  const id = `${echo}/${collection}`
  expect(body).toMatchObject({ id, type: 'OrderedCollection', totalItems: 0, first: `${id}?page=true` })
  expect(body.orderedItems).toBeUndefined()
  const page = await fetchDocument(`/agents/echo/${collection}?page=true`)
  expect(page.body).toMatchObject({ id: body.first, type: 'OrderedCollectionPage', partOf: id, orderedItems: [] })
})

test('an agent has no pinned posts', async () => {
  const collection = { id: `${echo}/featured`, type: 'OrderedCollection', totalItems: 0, orderedItems: [] }
  expect((await fetchDocument('/agents/echo/featured')).body).toMatchObject(collection)
})

test('NodeInfo describes the running gateway', async () => {
  const { body } = await fetchDocument('/.well-known/nodeinfo', {})
  const [{ href }] = body.links
  expect(href).toBe(`${origin}/nodeinfo/2.1`)
  expect((await fetchDocument(new URL(href).pathname, {})).body).toMatchObject({
    version: '2.1',
    software: { name: 'postern' },
    protocols: ['activitypub'],
    openRegistrations: false,
    usage: { users: { total: 2 } },
  })
})

test('links() names the actor for WebFinger', () => {
  expect(stage.gateway.channel.discovery?.links?.('echo')).toEqual([
    { rel: 'self', type: 'application/activity+json', href: echo },
  ])
})

test('keys.list() returns the keys of the actor documents', async () => {
  const keys = (await stage.gateway.channel.keys?.list()) ?? []
  expect(keys.map(({ id }) => id)).toEqual([
    `${echo}#main-key`,
    `${echo}#ed25519-key`,
    `${origin}/agents/help#main-key`,
    `${origin}/agents/help#ed25519-key`,
    `${origin}/actor#main-key`,
    `${origin}/actor#ed25519-key`,
  ])
  expect((await stage.gateway.channel.keys?.list(['help']))?.map(({ id }) => id)).toEqual(
    keys.slice(2).map(({ id }) => id),
  )
  const { body } = await fetchDocument('/agents/echo')
  expect(keys[0]?.publicKey).toBe(body.publicKey.publicKeyPem)
  expect(keys[1]?.publicKey).toBe(body.assertionMethod[0].publicKeyMultibase)
})

describe('a post', () => {
  const ids: Record<string, string> = {}

  beforeAll(async () => {
    const { gateway, alice, peer } = stage
    const agent = echo
    await postActivity(gateway, alice, composeNote(alice))
    await postActivity(gateway, alice, composeNote(alice, { to: [agent], cc: [] }, { to: [agent], cc: [] }))
    await vi.waitFor(() => expect(peer.requests.filter(({ method }) => method === 'POST')).toHaveLength(2))
    for (const { body } of peer.requests.filter(({ method }) => method === 'POST')) {
      const { object } = JSON.parse(body)
      ids[object.cc.length > 0 ? 'open' : 'direct'] = new URL(object.id).pathname
    }
  })

  test('is readable with its activity if it is public', async () => {
    expect((await fetchDocument(ids.open ?? '')).body).toMatchObject({
      id: `${origin}${ids.open}`,
      type: 'Note',
      attributedTo: echo,
    })
    expect((await fetchDocument(`${ids.open}/activity`)).body).toMatchObject({
      type: 'Create',
      object: { id: `${origin}${ids.open}` },
    })
  })

  test('does not exist for strangers if it is direct (AP-65)', async () => {
    expect(await fetchDocument(ids.direct ?? '')).toMatchObject({ status: 404, body: { code: 'no_recipient' } })
    expect(await fetchDocument(`${ids.direct}/activity`)).toMatchObject({ status: 404 })
  })

  test('does not exist under another agent', async () => {
    expect(await fetchDocument((ids.open ?? '').replace('/echo/', '/help/'))).toMatchObject({ status: 404 })
  })

  test('counts in the outbox if it is public (AP-65)', async () => {
    const { body } = await fetchDocument('/agents/echo/outbox')
    expect(body).toMatchObject({ type: 'OrderedCollection', totalItems: 1, first: `${echo}/outbox?page=true` })
    const page = await fetchDocument('/agents/echo/outbox?page=true')
    expect(page.body).toMatchObject({ type: 'OrderedCollectionPage', partOf: `${echo}/outbox` })
    expect(page.body.orderedItems.map(({ id }: { id: string }) => id)).toEqual([`${origin}${ids.open}/activity`])
    expect(page.body.next).toBeUndefined()
  })

  test('has no outbox page after an invalid number', async () => {
    expect(await fetchDocument('/agents/echo/outbox?page=true&after=x')).toMatchObject({ status: 400 })
  })
})

test.each([
  [{ date_window: 'soon' }, 'date_window'],
  [{ date_window: '10s' }, 'date_window'],
  [{ date_window: '3d' }, 'date_window'],
  [{ block: ['not a domain'] }, 'block'],
  [{ surprise: 1 }, ''],
])('activityPubConfigSchema refuses %j', (config, key) => {
  const issues = activityPubConfigSchema.safeParse(config).error?.issues ?? []
  expect(issues.map(({ path }) => String(path[0] ?? ''))).toContain(key)
})
