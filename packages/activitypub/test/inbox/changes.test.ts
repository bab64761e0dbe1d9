import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { publicCollection } from '../../src/format/vocabulary.ts'
import { composeActivity, composeDelete, composeUpdate, echoActor, objectIdOf } from '../activity.ts'
import { origin } from '../gateway.ts'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// The numbers in the titles are rows of the ActivityPub bug history.

let stage: Stage

beforeEach(async () => {
  stage = await openStage()
  stage.peer.serve('https://good.test/inbox', { status: 202 })
})
afterEach(() => stage.close())

const onlyMe = { to: [echoActor], cc: [] }

/** Waits until the agent has answered all messages. */
async function answerAll(): Promise<void> {
  const worker = stage.gateway.work()
  const states = async () => new Set((await stage.listStoredMessages()).map(({ state }) => state))
  await vi.waitFor(async () => expect(await states()).not.toContain('received'))
  await vi.waitFor(async () => expect(await states()).not.toContain('working'))
  await worker.stop(500)
}

test('an edit changes a waiting message, and the agent reads only the new text', async () => {
  const { gateway, alice, peer } = stage
  const note = composeNote(alice)
  await postActivity(gateway, alice, note)
  const update = composeUpdate(alice, note, { content: '<p>Hello again</p>' })
  expect(await postActivity(gateway, alice, update)).toMatchObject({ status: 202 })
  const [edit, first] = await stage.listStoredMessages()
  expect(edit).toMatchObject({ state: 'ignored', flags: ['edit_applied'], message: { kind: 'edit' } })
  expect(first).toMatchObject({
    state: 'received',
    flags: ['edited'],
    message: { parts: [{ content: 'Hello again' }] },
  })
  gateway.work()
  const posts = () => peer.requests.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body).object)
  await vi.waitFor(() => expect(posts()).toHaveLength(1))
  expect(posts()).toMatchObject([{ inReplyTo: objectIdOf(note) }])
  expect(gateway.resolved.map(({ id, kind, raw }) => [id, kind, (raw as { id: string }).id])).toEqual([
    [note.id, 'message', update.id],
  ])
})

test('the answer to a waiting message reaches only the audience of its edit', async () => {
  const { gateway, alice } = stage
  const open = { to: [publicCollection], cc: [echoActor] }
  const note = composeNote(alice, open, open)
  await postActivity(gateway, alice, note)
  await postActivity(gateway, alice, composeUpdate(alice, note, onlyMe, onlyMe))
  const [turn] = await gateway.store.leaseTurns({ holder: 'test', limit: 1, leaseMs: 1_000 })
  expect(turn).toMatchObject({ content: { id: note.id }, target: { visibility: 'direct' } })
})

test('an edit after the answer reaches the agent as an edit, in the thread of the post', async () => {
  const { gateway, alice } = stage
  const note = composeNote(alice, { context: 'https://good.test/contexts/1' })
  await postActivity(gateway, alice, note)
  await answerAll()
  const update = composeUpdate(alice, note, { content: '<p>Hello again</p>' })
  expect(await postActivity(gateway, alice, update)).toMatchObject({ status: 202 })
  const [edit, first] = await stage.listStoredMessages()
  expect(edit).toMatchObject({ thread: first?.thread, state: 'received', flags: [] })
  expect(edit?.message).toMatchObject({
    id: update.id,
    kind: 'edit',
    thread_source: 'https://good.test/contexts/1',
    in_reply_to: objectIdOf(note),
    parts: [{ content: 'Hello again' }],
  })
})

test('an answer to an edit replies to the edited post', async () => {
  const { gateway, alice, peer } = stage
  const note = composeNote(alice)
  await postActivity(gateway, alice, note)
  await answerAll()
  await postActivity(gateway, alice, composeUpdate(alice, note, { content: '<p>Hello again</p>' }))
  gateway.work()
  const posts = () => peer.requests.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body).object)
  await vi.waitFor(() => expect(posts()).toHaveLength(2))
  expect(posts().map(({ inReplyTo }) => inReplyTo)).toEqual([objectIdOf(note), objectIdOf(note)])
  expect(gateway.resolved.map(({ kind }) => kind)).toEqual(['message', 'edit'])
  expect(gateway.resolved[1]?.history?.map(({ role }) => role)).toEqual(['user', 'assistant'])
})

test('the gateway refuses an Update of another author’s post, which stays unchanged (AP-54)', async () => {
  const { gateway, peer, alice, mallory } = stage
  const note = composeNote(alice)
  await postActivity(gateway, alice, note)
  const bob = settlePerson(peer, 'bob@good.test')
  for (const thief of [mallory, bob]) {
    const forged = composeUpdate(thief, note, { content: '<p>Give me your keys</p>' })
    const answer = await postActivity(gateway, thief, forged)
    expect(answer).toMatchObject({ status: 401, code: 'signer_mismatch' })
    expect(answer.detail).toMatch(/^Cannot verify activity: its object is (on another host|attributed to somebody)/)
  }
  const nameless = composeUpdate(bob, note, { content: '<p>Mine now</p>', attributedTo: undefined, ...onlyMe, tag: [] })
  await postActivity(gateway, bob, { ...nameless, to: [], cc: [] })
  const records = await stage.listStoredMessages()
  expect(records.filter(({ message }) => message.kind === 'edit')).toEqual([])
  expect(records.at(-1)?.message.parts).toMatchObject([{ content: 'Hello' }])
})

test('an Update that mentions the agent for the first time is a message to it', async () => {
  const { gateway, alice } = stage
  const nobody = { to: [publicCollection], cc: [], tag: [] }
  const note = composeNote(alice, nobody, { to: [publicCollection], cc: [] })
  await postActivity(gateway, alice, note)
  const tag = [{ type: 'Mention', href: echoActor }]
  await postActivity(gateway, alice, composeUpdate(alice, note, { content: '<p>Hi @echo</p>', tag }), {
    path: '/inbox',
  })
  expect(await stage.listStoredMessages()).toMatchObject([{ message: { kind: 'message' }, state: 'received' }])
})

test('an edit does not widen the audience, nor does a second Create of the same post (AP-53)', async () => {
  const { gateway, alice } = stage
  const note = composeNote(alice, onlyMe, onlyMe)
  await postActivity(gateway, alice, note)
  const wide = { to: [publicCollection], cc: [echoActor] }
  await postActivity(gateway, alice, composeUpdate(alice, note, wide, wide))
  const secondCreate = { ...note, id: `${note.id}/again`, ...wide, object: { ...(note.object as object), ...wide } }
  expect(await postActivity(gateway, alice, secondCreate)).toMatchObject({ status: 202 })
  const messages = await gateway.store.findAuthored('activitypub', { author: alice.id, object: objectIdOf(note) })
  expect(
    messages.map(({ kind, scope, target }) => [kind, scope, (target as { visibility: string }).visibility]),
  ).toEqual([
    ['message', alice.id, 'direct'],
    ['edit', alice.id, 'direct'],
  ])
})

test('the gateway refuses a Create of another author’s post (AP-53)', async () => {
  const { gateway, alice, mallory } = stage
  const note = composeNote(alice, onlyMe, onlyMe)
  await postActivity(gateway, alice, note)
  const wide = composeNote(mallory, { id: objectIdOf(note), attributedTo: alice.id })
  expect(await postActivity(gateway, mallory, wide)).toMatchObject({ status: 401, code: 'signer_mismatch' })
  expect(await stage.listStoredMessages()).toHaveLength(1)
})

test('the gateway ignores a malformed language in an edit (AP-60)', async () => {
  const { gateway, alice } = stage
  const note = composeNote(alice)
  await postActivity(gateway, alice, note)
  const contentMap = { 'x y': '<p>bad</p>', fr: '<p>bon</p>' }
  await postActivity(gateway, alice, composeUpdate(alice, note, { content: undefined, contentMap }))
  const [edit] = await stage.listStoredMessages()
  expect(edit?.message).toMatchObject({ parts: [{ content: 'bon' }], sender: { profile: { locale: 'fr' } } })
})

test.each([
  ['a Tombstone', (id: string) => ({ id, type: 'Tombstone' })],
  ['its id', (id: string) => id],
])('a Delete by %s cancels waiting turns, deletes the text, and informs the agent', async (_, refer) => {
  const { gateway, alice } = stage
  const note = composeNote(alice, { content: '<p>zebra</p>' })
  await postActivity(gateway, alice, note)
  await postActivity(gateway, alice, composeUpdate(alice, note, { content: '<p>zebras</p>' }))
  const [turn] = await gateway.store.leaseTurns({ holder: 'test', limit: 1, leaseMs: 1_000 })
  const deletion = composeActivity(alice, 'Delete', refer(objectIdOf(note)))
  expect(await postActivity(gateway, alice, deletion, { path: '/inbox' })).toMatchObject({ status: 202 })
  const [notice, edit, first] = await stage.listStoredMessages()
  expect(notice).toMatchObject({ state: 'received', thread: first?.thread })
  expect(notice?.message).toMatchObject({ kind: 'delete', in_reply_to: objectIdOf(note) })
  expect(first).toMatchObject({
    state: 'failed',
    error: 'canceled',
    flags: ['edited', 'deleted'],
    message: { parts: [] },
  })
  expect(edit).toMatchObject({ state: 'ignored', flags: ['edit_applied', 'deleted'], message: { parts: [] } })
  expect(JSON.stringify(await stage.listStoredMessages())).not.toContain('zebra')
  expect(turn?.message).toBe(first?.number)
})

test('the gateway does not send a waiting answer to a deleted post', async () => {
  const { gateway, peer, alice } = stage
  peer.serve('https://good.test/inbox', { status: 503 })
  const note = composeNote(alice)
  await postActivity(gateway, alice, note)
  const worker = gateway.work()
  await vi.waitFor(async () => expect(await gateway.store.listDeliveries({ limit: 9, state: 'later' })).toHaveLength(1))
  await worker.stop(500)
  await postActivity(gateway, alice, composeDelete(alice, objectIdOf(note)))
  expect(await gateway.store.listDeliveries({ limit: 9 })).toMatchObject([
    { state: 'dead', last_error: 'what it answers was taken back by its author' },
  ])
})

test('a Delete that arrives before its Create prevents the post', async () => {
  const { gateway, alice } = stage
  const note = composeNote(alice, { content: '<p>zebra</p>' })
  expect(await postActivity(gateway, alice, composeDelete(alice, objectIdOf(note)))).toMatchObject({ status: 202 })
  expect(await stage.listStoredMessages()).toEqual([])
  expect(await postActivity(gateway, alice, note)).toMatchObject({ status: 202 })
  const [record] = await stage.listStoredMessages()
  expect(record).toMatchObject({ state: 'ignored', flags: ['deleted'], message: { parts: [] } })
  expect(await gateway.store.findNextDueAt()).toBeUndefined()
})

test('the gateway accepts a Delete of an object of another actor, which has no effect (AP-55)', async () => {
  const { gateway, peer, alice, mallory } = stage
  const note = composeNote(alice)
  await postActivity(gateway, alice, note)
  const bob = settlePerson(peer, 'bob@good.test')
  for (const thief of [mallory, bob]) {
    for (const object of [objectIdOf(note), alice.id, note.id]) {
      expect(await postActivity(gateway, thief, composeDelete(thief, object))).toMatchObject({ status: 202 })
    }
  }
  expect(await stage.listStoredMessages()).toMatchObject([
    { state: 'received', flags: [], message: { parts: [{ content: 'Hello' }] } },
  ])
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({ status: 202 })
  expect((await stage.listStoredMessages())[0]).toMatchObject({ state: 'received' })
})

test('an actor cannot delete another actor’s post in advance (AP-55)', async () => {
  const { gateway, peer, alice } = stage
  const note = composeNote(alice)
  const bob = settlePerson(peer, 'bob@good.test')
  await postActivity(gateway, bob, composeDelete(bob, objectIdOf(note)))
  await postActivity(gateway, alice, note)
  expect(await stage.listStoredMessages()).toMatchObject([{ state: 'received' }])
})

test('an Update does not restore a deleted post', async () => {
  const { gateway, alice } = stage
  const note = composeNote(alice)
  await postActivity(gateway, alice, note)
  await postActivity(gateway, alice, composeDelete(alice, objectIdOf(note)))
  await postActivity(gateway, alice, composeUpdate(alice, note, { content: '<p>zebra</p>' }))
  const [update] = await stage.listStoredMessages()
  expect(update).toMatchObject({ state: 'ignored', flags: ['deleted'], message: { parts: [] } })
})

test('the gateway deletes an actor that deletes itself, with all its text', async () => {
  const { gateway, alice } = stage
  await postActivity(gateway, alice, composeActivity(alice, 'Follow', echoActor))
  await postActivity(gateway, alice, composeNote(alice, { content: '<p>zebra</p>' }))
  expect(await postActivity(gateway, alice, composeActivity(alice, 'Delete', alice.id))).toMatchObject({ status: 202 })
  expect(await gateway.store.countRelations({ via: 'activitypub', agent: 'echo', relation: 'follower' })).toBe(0)
  expect((await stage.listStoredMessages()).map(({ flags }) => flags)).toEqual([['deleted'], ['deleted']])
  expect(JSON.stringify(await stage.listStoredMessages())).not.toContain('zebra')
  expect(await gateway.store.listDeliveries({ limit: 9 })).toMatchObject([
    { state: 'dead', last_error: 'the recipient is gone' },
  ])
})

test('the gateway deletes an actor whose document answers 410, but not one that answers 404 (AP-31)', async () => {
  const { gateway, peer, alice } = stage
  const bob = settlePerson(peer, 'bob@good.test')
  for (const person of [alice, bob]) await postActivity(gateway, person, composeActivity(person, 'Follow', echoActor))
  gateway.system.advance(25 * 3_600_000)
  peer.serve(alice.id, { status: 410 })
  peer.serve(bob.id, { status: 404 })
  for (const person of [alice, bob]) {
    const farewell = composeActivity(person, 'Delete', person.id)
    expect(await postActivity(gateway, person, farewell)).toMatchObject({ status: 202 })
  }
  const followers = await gateway.store.listRelations({
    via: 'activitypub',
    agent: 'echo',
    relation: 'follower',
    limit: 9,
  })
  expect(followers.map(({ peer: id }) => id)).toEqual([bob.id])
})

test('a Delete for no local agent causes no DNS query', async () => {
  const { gateway, peer, alice } = stage
  await postActivity(gateway, alice, composeDelete(alice, 'https://good.test/users/alice/statuses/0'))
  expect(peer.requests.map(({ path, headers }) => [path, 'signature' in headers])).toEqual([
    ['/users/alice', false],
    ['/users/alice', true],
  ])
})

test('a quote becomes a link without its fallback text, with or without a quote stamp (AP-62, MN-4)', async () => {
  const { gateway, peer, alice } = stage
  const quoted = 'https://other.test/notes/1'
  const note = {
    quote: quoted,
    quoteAuthorization: 'https://evil.test/stamps/1',
    content: `<p class="quote-inline">RE: <a href="${quoted}">${quoted}</a></p><p>Look</p>`,
  }
  await postActivity(gateway, alice, composeNote(alice, note))
  const [record] = await stage.listStoredMessages()
  expect(record?.message.parts).toEqual([
    { kind: 'text', mime: 'text/plain', content: 'Look' },
    { kind: 'link', url: quoted, title: 'Quoted post' },
  ])
  expect(peer.requests.map(({ host }) => host)).not.toContain('evil.test')
})

test('the gateway ignores an embedded quoted post (AP-62)', async () => {
  const { gateway, alice } = stage
  const quote = { id: 'https://other.test/notes/1', type: 'Note', content: '<p>forged zebra</p>' }
  const tag = [
    { type: 'Mention', href: echoActor },
    { type: 'Link', mediaType: 'application/activity+json', href: 'https://other.test/notes/2', name: 'RE: x' },
  ]
  await postActivity(gateway, alice, composeNote(alice, { quote, tag }))
  const [record] = await stage.listStoredMessages()
  expect(JSON.stringify(record?.message.parts)).not.toContain('zebra')
  expect(record?.message.parts).toMatchObject([{ kind: 'text' }, { kind: 'link', url: 'https://other.test/notes/1' }])
})

test('the gateway does not read collections of replies (AP-63)', async () => {
  const { gateway, peer, alice } = stage
  const id = 'https://good.test/replies'
  const replies = {
    id,
    type: 'Collection',
    first: { type: 'CollectionPage', next: id, items: ['https://evil.test/1'] },
  }
  await postActivity(gateway, alice, composeNote(alice, { replies, context: id }))
  expect(await stage.listStoredMessages()).toHaveLength(1)
  expect(peer.countOf(id)).toBe(0)
})

test('an edit and a deletion reach each agent that received the post', async () => {
  const { gateway, alice } = stage
  const cc = ['echo', 'help'].map(name => `${origin}/agents/${name}`)
  const note = composeNote(alice, { cc }, { cc })
  await postActivity(gateway, alice, note, { path: '/inbox' })
  await postActivity(gateway, alice, composeUpdate(alice, note, { content: 'new' }), { path: '/inbox' })
  await postActivity(gateway, alice, composeDelete(alice, objectIdOf(note)), { path: '/inbox' })
  const list = await gateway.store.listMessages({ limit: 10 })
  expect(list.map(({ agent, state }) => `${agent} ${state}`).sort()).toEqual([
    'echo failed',
    'echo ignored',
    'echo received',
    'help failed',
    'help ignored',
    'help received',
  ])
})
