import { afterEach, beforeEach, expect, test } from 'vitest'
import { composeNote, postActivity } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// A `Create` may name its post by its IRI alone.

type Document = Readonly<{ [name: string]: unknown }>

let stage: Stage

beforeEach(async () => {
  stage = await openStage({ config: { block: ['other.test'] } })
})
afterEach(() => stage.close())

/** Composes an activity that names its post, and the post as its server shows it. */
function composeNamed(note: Document = {}) {
  const create = composeNote(stage.alice, { ...note })
  const post: Document = { '@context': 'https://www.w3.org/ns/activitystreams', ...(create.object as Document) }
  const activity: Document = { ...create, object: post.id }
  return { activity, post, url: String(post.id) }
}

async function deliver(activity: Document) {
  const { status, code } = await postActivity(stage.gateway, stage.alice, { ...activity })
  return [status, code, (await stage.listStoredMessages()).length]
}

test('the gateway fetches a post that a Create names by IRI, and treats it like an embedded post', async () => {
  const { activity, post, url } = composeNamed({ content: '<p>Fetched</p>', contentMap: { en: '<p>Fetched</p>' } })
  stage.peer.serve(url, { body: post })
  expect(await deliver(activity)).toEqual([202, undefined, 1])
  const [record] = await stage.listStoredMessages()
  expect(record?.message).toMatchObject({
    id: activity.id,
    parts: [{ kind: 'text', content: 'Fetched' }],
    sender: { address: '@alice@good.test', verified: true, profile: { locale: 'en' } },
  })
  expect(stage.peer.requests.find(({ path }) => url.endsWith(path))?.headers.signature).toContain('/actor#main-key')
  expect(await deliver({ ...activity, id: `${url}/again` })).toEqual([202, undefined, 1])
})

test.each<[string, (post: Document) => Document]>([
  ['is another one than was named', post => ({ ...post, id: `${post.id}0` })],
  ['is attributed to somebody else', post => ({ ...post, attributedTo: 'https://good.test/users/bob' })],
  ['is attributed to nobody', ({ attributedTo: _, ...post }) => post],
  ['is no post', post => ({ ...post, type: 'Person' })],
])('the gateway gives no agent a referenced post that %s', async (_, change) => {
  const { activity, post, url } = composeNamed()
  stage.peer.serve(url, { body: change(post) })
  expect(await deliver(activity)).toEqual([202, undefined, 0])
  expect(stage.peer.countOf(url)).toBe(1)
})

test('the gateway does not fetch a referenced post on another host than its author', async () => {
  const { activity } = composeNamed()
  const object = 'https://evil.test/notes/1'
  expect(await deliver({ ...activity, object })).toEqual([401, 'signer_mismatch', 0])
  expect(stage.peer.countOf(object)).toBe(0)
})

test('the gateway does not fetch a referenced post that is for no agent of this gateway', async () => {
  const { activity, post, url } = composeNamed()
  stage.peer.serve(url, { body: post })
  expect(await deliver({ ...activity, to: post.to, cc: [] })).toEqual([202, undefined, 0])
  expect(stage.peer.countOf(url)).toBe(0)
})

test('the gateway answers 503 while the post’s host is unavailable, and 202 if the host does not show the post', async () => {
  const { activity, url } = composeNamed()
  stage.peer.serve(url, { status: 503 })
  expect(await deliver(activity)).toEqual([503, 'unavailable', 0])
  stage.peer.serve(url, { status: 403 })
  expect(await deliver(activity)).toEqual([202, undefined, 0])
})

test('the gateway limits the fetches that one sender can cause', async () => {
  const { gateway, alice, peer } = stage
  const { activity, url } = composeNamed()
  // Each second allows one more fetch.
  const sent = Array.from({ length: 150 }, (_, count) => ({ ...activity, id: `${url}/activity/${count}` }))
  const answers = await Promise.all(sent.map(each => postActivity(gateway, alice, each)))
  const acceptedCount = answers.filter(({ status }) => status === 202).length
  expect(acceptedCount).toBeGreaterThanOrEqual(60)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202, 429]))
  expect(peer.countOf(url)).toBe(acceptedCount)
})

test('the ChatMessages of one sender share one private thread', async () => {
  const chat = () => composeNote(stage.alice, { type: 'ChatMessage', tag: [] })
  for (const message of [chat(), chat()]) expect((await deliver(message))[0]).toBe(202)
  const records = await stage.listStoredMessages()
  expect(records).toHaveLength(2)
  expect(new Set(records.map(({ thread }) => thread)).size).toBe(1)
  const message = await stage.gateway.store.findMessageTo('echo', records[0]?.message.id ?? '')
  expect(message?.target).toMatchObject({ visibility: 'direct' })
})
