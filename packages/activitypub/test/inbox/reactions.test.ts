import type { Agent } from '@postern/pipeline'
import { performActions } from '@postern/pipeline'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { publicCollection } from '../../src/format/vocabulary.ts'
import { composeActivity, composeUndo, echoActor } from '../activity.ts'
import type { PeerAccount } from '../person.ts'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// The numbers in the titles are rows of the ActivityPub bug history.

let stage: Stage

/** An agent that answers messages but not events. */
const listener: Agent = { handle: ({ kind }) => (kind === 'message' ? 'I see' : undefined) }

beforeEach(async () => {
  stage = await openStage({ agents: { echo: listener, other: listener } })
  stage.peer.serve('https://good.test/inbox', { status: 202 })
  stage.peer.serve('https://good.test/users/alice/inbox', { status: 202 })
})
afterEach(() => stage.close())

/** Returns the IRI of the agent's answer to a post by Alice. */
async function getAnswer(
  audience: Record<string, unknown> = { to: [publicCollection], cc: [echoActor] },
): Promise<string> {
  const { gateway, alice, peer } = stage
  await postActivity(gateway, alice, composeNote(alice, audience, { ...audience }))
  const worker = gateway.work()
  await vi.waitFor(() => expect(peer.requests.map(({ method }) => method)).toContain('POST'))
  await worker.stop(500)
  const { object } = JSON.parse(peer.requests.find(({ method }) => method === 'POST')?.body ?? '')
  return object.id
}

async function react(person: PeerAccount, type: string, object: unknown, members: Record<string, unknown> = {}) {
  const activity = composeActivity(person, type, object, members)
  expect(await postActivity(stage.gateway, person, activity, { path: '/inbox' })).toMatchObject({ status: 202 })
  return activity
}

test.each([
  ['Like', {}, 'Liked the post'],
  ['Like', { content: '🎉' }, 'Reacted to the post with 🎉'],
  ['Like', { _misskey_reaction: ':blobcat:' }, 'Reacted to the post with :blobcat:'],
  ['Like', { content: 'x'.repeat(64) }, `Reacted to the post with ${'x'.repeat(64)}`],
  ['Like', { content: 'x'.repeat(65) }, 'Liked the post'],
  ['EmojiReact', { content: '🦓' }, 'Reacted to the post with 🦓'],
  ['EmojiReact', {}, 'Reacted to the post with an emoji'],
  ['Announce', { to: [publicCollection] }, 'Boosted the post'],
])('a %s with %j reaches the agent as a reaction in the thread of its post', async (type, members, sentence) => {
  const { mallory } = stage
  const post = await getAnswer()
  const { id } = await react(mallory, type, post, members)
  const [reaction, first] = await stage.listStoredMessages()
  expect(reaction).toMatchObject({ state: 'received', thread: first?.thread })
  expect(reaction?.message).toMatchObject({ id, kind: 'reaction', in_reply_to: post })
  expect(reaction?.message.parts).toEqual([
    { kind: 'text', mime: 'text/plain', content: sentence },
    { kind: 'link', url: post, title: 'Post' },
  ])
})

test('the gateway never reads the copy of a post in a boost (AP-56)', async () => {
  const { alice, mallory } = stage
  const post = await getAnswer()
  await react(mallory, 'Announce', { id: post, type: 'Note', attributedTo: alice.id, content: 'zebra', tag: [] })
  const [reaction] = await stage.listStoredMessages()
  expect(JSON.stringify(reaction?.message.parts)).not.toContain('zebra')
  await react(mallory, 'Announce', {
    id: 'https://good.test/1',
    type: 'Note',
    attributedTo: alice.id,
    content: 'zebra',
  })
  expect(await stage.listStoredMessages()).toHaveLength(2)
})

test('reactions to other posts have no effect and cause no DNS query', async () => {
  const { peer, mallory } = stage
  for (const object of ['https://good.test/1', `${echoActor}/posts/none`, echoActor]) {
    for (const type of ['Like', 'EmojiReact', 'Announce']) await react(mallory, type, object)
  }
  expect(await stage.listStoredMessages()).toEqual([])
  expect(peer.requests.map(({ path, headers }) => [path, 'signature' in headers])).toEqual([
    ['/users/mallory', false],
    ['/users/mallory', true],
  ])
})

test('the gateway recognizes its own post in a forwarded activity, but not under another agent’s name', async () => {
  const { gateway, mallory } = stage
  const post = await getAnswer()
  const returned = { ...composeActivity(mallory, 'Create', { id: post, type: 'Note' }), actor: echoActor }
  const bring = (id: string) => postActivity(gateway, mallory, { ...returned, id }, { path: '/inbox' })
  expect(await bring(`${post}/activity`)).toMatchObject({ status: 202 })
  expect(await bring(`${post.replace('/echo/', '/other/')}/activity`)).toMatchObject({ status: 401 })
  expect(await bring(`${post}0/activity`)).toMatchObject({ status: 401 })
})

test('a stranger cannot react to a post outside their view (AP-65)', async () => {
  const { alice, mallory } = stage
  const post = await getAnswer({ to: [echoActor], cc: [] })
  await react(mallory, 'Like', post)
  expect(await stage.listStoredMessages()).toHaveLength(1)
  await react(alice, 'Like', post)
  const [reaction, first] = await stage.listStoredMessages()
  expect(reaction).toMatchObject({ message: { kind: 'reaction' }, thread: first?.thread })
})

test('a follower cannot react to a direct post for another person (AP-65)', async () => {
  const { mallory } = stage
  const post = await getAnswer({ to: [echoActor], cc: [] })
  await react(mallory, 'Follow', echoActor)
  await react(mallory, 'Like', post)
  expect((await stage.listStoredMessages()).map(({ message }) => message.kind)).not.toContain('reaction')
})

test('a reaction to a deleted post has no effect', async () => {
  const { gateway, mallory } = stage
  const post = await getAnswer()
  const { store, system, channel } = gateway
  const response = post.split('/').at(-1) ?? ''
  const acting = { agent: 'echo', address: '@echo@agents.test' }
  await performActions([{ act: 'delete', response }], acting, { store, system, channels: [channel] })
  await react(mallory, 'Like', post)
  expect((await stage.listStoredMessages()).map(({ message }) => message.kind)).not.toContain('reaction')
})

test.each([true, false])('an Undo removes a reaction (embedded: %s), and the actor may repeat it', async isEmbedded => {
  const { gateway, mallory } = stage
  const post = await getAnswer()
  const like = await react(mallory, 'Like', post)
  await react(mallory, 'Undo', isEmbedded ? like : like.id)
  const [undone, , first] = await stage.listStoredMessages()
  expect(undone).toMatchObject({ message: { kind: 'reaction', in_reply_to: post }, thread: first?.thread })
  expect(undone?.message.parts).toMatchObject([{ content: 'Took back the reaction' }, { url: post }])
  await postActivity(gateway, mallory, like)
  expect((await gateway.store.listMessages({ limit: 9 })).map(({ preview }) => preview)).toContainEqual(
    expect.stringContaining('Liked the post'),
  )
  expect((await gateway.store.listMessages({ limit: 9 })).length).toBe(4)
})

test('an actor cannot undo another actor’s reaction (AP-57)', async () => {
  const { gateway, peer, alice, mallory } = stage
  const post = await getAnswer()
  const like = await react(mallory, 'Like', post)
  const carl = settlePerson(peer, 'carl@evil.test')
  for (const thief of [alice, carl]) await postActivity(gateway, thief, composeUndo(thief, like))
  expect(await stage.listStoredMessages()).toHaveLength(2)
})

test('the conversation does not contain reactions', async () => {
  const { gateway, alice, mallory } = stage
  const post = await getAnswer()
  await react(mallory, 'Like', post)
  await postActivity(gateway, alice, composeNote(alice, { inReplyTo: post }))
  gateway.work()
  await vi.waitFor(() => expect(gateway.resolved).toHaveLength(3))
  expect(gateway.resolved.map(({ kind }) => kind)).toEqual(['message', 'reaction', 'message'])
  const history = gateway.resolved.at(-1)?.history ?? []
  expect(JSON.stringify(history)).not.toContain('Liked')
})
