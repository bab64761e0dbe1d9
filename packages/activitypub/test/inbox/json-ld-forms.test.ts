import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { origin, readText } from '../gateway.ts'
import { composeNote, postActivity } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// JSON-LD allows several forms of the same document. An activity that has nothing for an agent is listed for the operator.

const agent = `${origin}/agents/echo`
const as = 'https://www.w3.org/ns/activitystreams#'
let stage: Stage

beforeEach(async () => {
  stage = await openStage()
  for (const inbox of ['inbox', 'users/alice/inbox']) stage.peer.serve(`https://good.test/${inbox}`, { status: 202 })
})
afterEach(() => stage.close())

const post = (activity: object) => postActivity(stage.gateway, stage.alice, activity as never)
const listed = async () => stage.gateway.store.listRefusals({ limit: 100 })
/** Returns the kind and the text of each message, as its agent gets it. */
const listReceived = async () =>
  (await stage.listStoredMessages()).map(({ message }) => [message.kind, readText(message.parts)])

interface Sent {
  readonly object: Record<string, unknown>
  readonly [name: string]: unknown
}

test.each<[string, (sent: Sent) => object, string]>([
  [
    'a post whose first type is foreign',
    ({ object, ...sent }) => ({ ...sent, object: { ...object, type: ['schema:Recipe', 'Article'], name: 'Soup' } }),
    'Soup\n\nHello',
  ],
  ['an activity with a second type', sent => ({ ...sent, type: ['Create', 'ex:Publish'] }), 'Hello'],
  ['a type as a whole IRI', sent => ({ ...sent, object: { ...sent.object, type: `${as}Note` } }), 'Hello'],
  ['a type with the prefix as', sent => ({ ...sent, object: { ...sent.object, type: 'as:Note' } }), 'Hello'],
  ['an object in a list of one', sent => ({ ...sent, object: [sent.object] }), 'Hello'],
  [
    'a content in a list of values with their language',
    sent => ({ ...sent, object: { ...sent.object, content: [{ '@value': '<p>Hallo</p>', '@language': 'de' }] } }),
    'Hallo',
  ],
  ['a content in a list', sent => ({ ...sent, object: { ...sent.object, content: ['<p>Hello</p>'] } }), 'Hello'],
  [
    'a title and a warning in several languages alone',
    ({ object: { summary: _, ...object }, ...sent }) => ({
      ...sent,
      object: { ...object, nameMap: { en: 'Soup' }, summaryMap: { en: 'Food' } },
    }),
    'Soup\n\nContent warning: Food\n\nHello',
  ],
  [
    'a text of its own media type',
    sent => ({ ...sent, object: { ...sent.object, mediaType: 'text/markdown', content: '1 < 2\n\n- <b>' } }),
    '1 < 2\n\n- <b>',
  ],
  [
    'keywords for id and type',
    ({ id, type, object: { id: postId, type: postType, ...object }, ...sent }) => ({
      ...{ '@id': id, '@type': type, ...sent },
      object: { '@id': postId, '@type': [postType], ...object },
    }),
    'Hello',
  ],
  ['the usual form', sent => sent, 'Hello'],
])('the gateway gives an agent %s', async (_, vary, text) => {
  const sent = composeNote(stage.alice) as never
  expect(await post(vary(sent))).toMatchObject({ status: 202 })
  expect(await listReceived()).toEqual([['message', text]])
  expect(await listed()).toEqual([])
})

test('the gateway fetches a post that an activity names by a node with only an id', async () => {
  const { '@context': context, object } = composeNote(stage.alice) as unknown as Sent
  const id = String(object.id)
  stage.peer.serve(id, { body: { '@context': context, ...object } })
  const activity = composeNote(stage.alice, {}, { object: { '@id': id }, id: `${id}/activity` })
  expect(await post(activity)).toMatchObject({ status: 202 })
  expect(await listReceived()).toEqual([['message', 'Hello']])
})

test('the gateway reads an actor document of expanded JSON-LD', async () => {
  const { alice, peer } = stage
  const { keyId, key } = alice
  const sec = 'https://w3id.org/security#'
  const ldp = 'http://www.w3.org/ns/ldp#'
  const expanded = {
    '@id': alice.id,
    '@type': [`${as}Person`],
    [`${as}preferredUsername`]: [{ '@value': 'alice' }],
    [`${ldp}inbox`]: [{ '@id': `${alice.id}/inbox` }],
    [`${sec}publicKey`]: [
      { '@id': keyId, [`${sec}owner`]: [{ '@id': alice.id }], [`${sec}publicKeyPem`]: [{ '@value': key.publicPem }] },
    ],
  }
  peer.serve(alice.id, { body: expanded })
  expect(await post(composeNote(alice))).toMatchObject({ status: 202 })
  expect(await listReceived()).toEqual([['message', 'Hello']])
})

test('the gateway accepts a like and a follow whose object is a list of one', async () => {
  const { gateway, alice, peer } = stage
  gateway.work()
  await post(composeNote(alice))
  const answer = await vi.waitFor(async () => {
    const [response] = await gateway.store.listResponses({ agent: 'echo', via: 'activitypub', limit: 1 })
    if (!response) throw new Error('no answer yet')
    return response.response.id
  })
  const composeAction = (type: string, object: string) => composeNote(alice, {}, { type, object: [object], cc: [] })
  expect(await post(composeAction('Like', `${agent}/posts/${answer}`))).toMatchObject({ status: 202 })
  expect(await post(composeAction('Follow', agent))).toMatchObject({ status: 202 })
  expect((await listReceived()).map(([kind]) => kind).toSorted()).toEqual(['follow', 'message', 'reaction'])
  const accepted = () => peer.requests.filter(({ body }) => body.includes('"Accept"'))
  await vi.waitFor(() => expect(accepted()).toHaveLength(1))
})

test.each<[string, object, object]>([
  [
    'a post of a type that nobody knows, with the type',
    { object: { id: 'https://good.test/1', type: 'ex:Letter', content: 'hi', cc: [agent] } },
    { code: 'unsupported', reason: 'Cannot give activity to an agent: its object has the type "ex:Letter"' },
  ],
  [
    'an activity of a type that nobody knows',
    { type: 'ex:Wave', object: agent },
    { code: 'unsupported', reason: 'Cannot give activity to an agent: its type is "ex:Wave"' },
  ],
  [
    'a post that its host does not show',
    { object: 'https://good.test/hidden' },
    { reason: 'Cannot give activity to an agent: its host does not show its object to this gateway' },
  ],
  [
    'a like of a post that is not there',
    { type: 'Like', object: `${agent}/posts/1` },
    { reason: 'Cannot give activity to an agent: its Like is of nothing that this gateway has' },
  ],
])('the operator sees %s', async (_, members, expected) => {
  const { gateway, alice } = stage
  const sent = composeNote(alice, {}, { cc: [agent], ...members })
  expect(await postActivity(gateway, alice, sent as never, { path: '/inbox' })).toMatchObject({ status: 202 })
  expect(await stage.listStoredMessages()).toEqual([])
  const { id } = sent as { readonly id: string }
  expect(await listed()).toMatchObject([{ agent: 'echo', claimed_sender: alice.id, peer_id: id, ...expected }])
})

test('the operator sees activities for an unknown agent, in its inbox or in the shared one', async () => {
  const { gateway, alice } = stage
  const unknownAgent = `${origin}/agents/nobody`
  const note = composeNote(
    alice,
    { cc: [unknownAgent], tag: [{ type: 'Mention', href: unknownAgent }] },
    { cc: [unknownAgent] },
  )
  expect(await postActivity(gateway, alice, note, { path: '/inbox' })).toMatchObject({ status: 202 })
  expect(await postActivity(gateway, alice, note, { path: '/agents/nobody/inbox' })).toMatchObject({ status: 404 })
  expect(await listed()).toMatchObject([
    { code: 'no_recipient', agent: 'nobody', endpoint: 'POST /agents/:agent/inbox' },
    { code: 'no_recipient', agent: 'nobody', reason: 'Cannot deliver activity: there is no agent "nobody"' },
  ])
})

test.each<[string, object]>([
  ['the end of an account', { type: 'Delete', object: 'https://good.test/users/carol', cc: [] }],
  ['a post for others', { object: { id: 'https://good.test/7', type: 'Note', content: 'hi' }, cc: [] }],
  ['a boost of somebody else’s post', { type: 'Announce', object: 'https://evil.test/1', cc: [] }],
  ['a changed profile', { type: 'Update', object: { id: 'https://good.test/users/alice', type: 'Person' }, cc: [] }],
])('the operator’s list omits %s, which servers send to everybody', async (_, members) => {
  const { gateway, alice } = stage
  const sent = composeNote(alice, {}, members as never)
  expect(await postActivity(gateway, alice, sent, { path: '/inbox' })).toMatchObject({ status: 202 })
  expect(await listed()).toEqual([])
})

test('a flood of useless activities does not fill a list', async () => {
  const { gateway, alice } = stage
  const startedAt = Date.now()
  for (let count = 0; count < 60; count += 1) {
    await postActivity(gateway, alice, composeNote(alice, {}, { type: 'ex:Wave', object: agent }), { path: '/inbox' })
  }
  // The limit of 30 a minute refills while the posts arrive.
  const refilled = Math.ceil((Date.now() - startedAt) / 2_000)
  const { length } = await listed()
  expect(length).toBeGreaterThanOrEqual(30)
  expect(length).toBeLessThanOrEqual(30 + refilled)
}, 60_000)
