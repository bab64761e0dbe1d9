import type { AgentProfile } from '@postern/pipeline'
import { Hono } from 'hono'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { activityPubConfigSchema, openActivityPub } from '../../src/index.ts'
import type { ActivityPubGateway } from '../gateway.ts'
import { openActivityPubGateway, origin } from '../gateway.ts'

// An agent's actor document has its icon, its fields, its other accounts and its settings for directories.

let gateway: ActivityPubGateway
beforeAll(async () => {
  gateway = await openActivityPubGateway()
})
afterAll(() => gateway.close())

async function readActor(face: Partial<AgentProfile>) {
  const echo = { ...(gateway.agents.find('echo') as AgentProfile), ...face }
  const agents = { ...gateway.agents, find: () => echo, list: () => [echo] }
  const { endpoint } = openActivityPub(activityPubConfigSchema.parse({}), {
    channels: [],
    system: gateway.system,
    store: gateway.store,
    admission: { rules: [], store: gateway.store },
    decisions: gateway.store,
    agents,
  })
  const app = new Hono().route('/', endpoint.routes)
  const answer = await app.request(`${origin}/agents/echo`, { headers: { accept: 'application/activity+json' } })
  return (await answer.json()) as Record<string, unknown>
}

test('an icon is an Image, with its type if known', async () => {
  const url = `${origin}/agents/echo/icon/0123456789abcdef.png`
  expect(await readActor({ iconUrl: url, iconType: 'image/png' })).toMatchObject({
    icon: { type: 'Image', url, mediaType: 'image/png' },
  })
  expect((await readActor({ iconUrl: url })).icon).toEqual({ type: 'Image', url })
})

test('fields are property values with escaped plain text, and a URL alone is a link', async () => {
  const fields = [
    { name: 'Made & run by', value: 'A <b>team</b> & "friends"' },
    { name: 'Source', value: 'https://example.com/code?a=1&b="2"' },
    { name: 'Not a link', value: 'see https://example.com/' },
    { name: 'Nor this', value: 'javascript:alert(1)' },
  ]
  const { attachment } = await readActor({ fields })
  const href = 'https://example.com/code?a=1&amp;b=&quot;2&quot;'
  expect(attachment).toEqual([
    { type: 'PropertyValue', name: 'Made & run by', value: 'A &lt;b&gt;team&lt;/b&gt; &amp; &quot;friends&quot;' },
    {
      type: 'PropertyValue',
      name: 'Source',
      value: `<a href="${href}" rel="me nofollow noopener" target="_blank">${href}</a>`,
    },
    { type: 'PropertyValue', name: 'Not a link', value: 'see https://example.com/' },
    { type: 'PropertyValue', name: 'Nor this', value: 'javascript:alert(1)' },
  ])
})

test('the context defines the members that Mastodon reads', async () => {
  const { '@context': context } = await readActor({})
  expect(Object.assign({}, ...(context as object[]).filter(part => typeof part === 'object'))).toMatchObject({
    schema: 'http://schema.org#',
    PropertyValue: 'schema:PropertyValue',
    value: 'schema:value',
    alsoKnownAs: { '@id': 'as:alsoKnownAs', '@type': '@id' },
    discoverable: 'toot:discoverable',
    indexable: 'toot:indexable',
  })
})

test('the actor is discoverable and indexable only if the configuration asks for it', async () => {
  expect(await readActor({})).toMatchObject({ discoverable: false, indexable: false })
  expect(await readActor({ isDiscoverable: true })).toMatchObject({ discoverable: true, indexable: false })
  expect(await readActor({ isIndexable: true })).toMatchObject({ discoverable: false, indexable: true })
})

test('the actor names other accounts if configured, and omits missing members', async () => {
  const alsoKnownAs = ['https://old.test/users/echo']
  expect(await readActor({ alsoKnownAs })).toMatchObject({ alsoKnownAs })
  const bare = await readActor({})
  for (const name of ['icon', 'attachment', 'alsoKnownAs']) expect(bare).not.toHaveProperty(name)
})
