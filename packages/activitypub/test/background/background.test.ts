import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { publicCollection } from '../../src/format/vocabulary.ts'
import { composeActivity, composeDelete, echoActor } from '../activity.ts'
import { mention, recall, serveChain, servePost, textsOf } from '../conversation.ts'
import { origin, readText } from '../gateway.ts'
import type { PeerAccount } from '../person.ts'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// The gateway reads the earlier posts of a conversation before it calls an agent.

let stage: Stage
let bob: PeerAccount
let carol: PeerAccount

beforeEach(async () => {
  stage = await openStage()
  const { peer, alice } = stage
  for (const host of ['good', 'other', 'evil']) peer.serve(`https://${host}.test/inbox`, { status: 202 })
  bob = settlePerson(peer, 'bob@other.test', { key: alice.key })
  carol = settlePerson(peer, 'carol@good.test', { key: alice.key, hasHandle: false })
  stage.gateway.work()
})
afterEach(() => stage.close())

test('the gateway reads a thread of four posts by three people on two servers in order, each with its author', async () => {
  const { peer, alice } = stage
  const chain = serveChain(peer, [alice, bob, carol], 3)
  const history = await mention(stage, alice, { inReplyTo: chain[2] })
  expect(history.map(({ nativeId }) => nativeId)).toEqual(chain)
  expect(textsOf(history)).toEqual(['1 by alice', '2 by bob', '3 by carol'])
  expect(history.map(({ role, author }) => [role, author.address, author.display_name])).toEqual([
    ['user', '@alice@good.test', 'The alice'],
    ['user', '@bob@other.test', 'The bob'],
    ['user', '@carol@good.test', 'The carol'],
  ])
  expect(history[0]?.at).toBe('2026-01-02T03:04:05.000Z')
})

test('the agent gets the earlier posts at its first mention, with the name of each author', async () => {
  const { peer, alice, gateway } = stage
  const chain = serveChain(peer, [bob, carol], 2)
  await mention(stage, alice, { inReplyTo: chain[1] })
  const [user, ...others] = gateway.resolved.at(-1)?.history ?? []
  expect(others).toEqual([])
  expect(user).toMatchObject({ role: 'user', sender: { address: '@bob@other.test' } })
  expect(readText(user?.parts ?? [])).toBe('1 by bob|@carol@good.test:|2 by carol')
})

test('the agent’s history contains the earlier posts after its first answer', async () => {
  const { peer, alice, gateway } = stage
  const chain = serveChain(peer, [bob, carol], 2)
  await mention(stage, alice, { inReplyTo: chain[1] })
  const answered = () => gateway.store.listResponses({ agent: 'echo', via: 'activitypub', limit: 1 })
  await vi.waitFor(async () => expect(await answered()).toHaveLength(1))
  const [first] = await answered()
  await mention(stage, alice, { inReplyTo: `${origin}/agents/echo/posts/${first?.response.id}` })
  const [user, assistant] = gateway.resolved.at(-1)?.history ?? []
  expect(readText(user?.parts ?? [])).toBe('1 by bob|@carol@good.test:|2 by carol|@alice@good.test:|Hello')
  expect(assistant?.role).toBe('assistant')
})

test('the gateway signs its fetches with the key of the instance actor, not with the agent’s', async () => {
  const { peer, alice } = stage
  const [parent = ''] = serveChain(peer, [bob], 1)
  await mention(stage, alice, { inReplyTo: parent })
  const parentRequest = peer.requests.find(({ path }) => parent.endsWith(path))
  expect(parentRequest?.headers.signature).toContain(`keyId="${origin}/actor#main-key"`)
})

test('the second mention in a thread fetches only what is new', async () => {
  const { peer, alice } = stage
  const context = 'https://good.test/contexts/1'
  const chain = serveChain(peer, [bob, carol], 2)
  await mention(stage, alice, { context, inReplyTo: chain[1] })
  peer.forget()
  // The time is longer than a post is cached, so the thread itself must contain it.
  stage.gateway.system.advance(3_600_000)
  const third = servePost(peer, bob, { inReplyTo: chain[1], content: 'third' })
  const history = await mention(stage, carol, { context, inReplyTo: third })
  expect(textsOf(history)).toEqual(['1 by bob', '2 by carol', 'Hello', 'heard: Hello', 'third'])
  expect([...chain, third].map(peer.countOf)).toEqual([0, 0, 1])
})

test('a reply to a post that the agent knows or wrote causes no fetch', async () => {
  const { peer, alice, gateway } = stage
  const first = composeNote(alice)
  await postActivity(gateway, alice, first)
  await vi.waitFor(() => expect(gateway.resolved).toHaveLength(1))
  peer.forget()
  const postId = String((first.object as { id: string }).id)
  expect(textsOf(await mention(stage, alice, { inReplyTo: postId }))).toContain('Hello')
  await mention(stage, alice, { inReplyTo: `${origin}/agents/echo/posts/none` })
  expect(peer.requests.filter(({ method }) => method === 'GET')).toEqual([])
})

test('the gateway fetches each earlier post once for two agents of one thread', async () => {
  const { peer, alice, gateway } = stage
  const chain = serveChain(peer, [bob], 3)
  const tag = ['echo', 'help'].map(name => ({ type: 'Mention', href: `${origin}/agents/${name}` }))
  const history = await mention(stage, alice, { inReplyTo: chain[2], tag })
  await vi.waitFor(() => expect(gateway.resolved).toHaveLength(2))
  expect(history).toHaveLength(3)
  expect(chain.map(peer.countOf)).toEqual([1, 1, 1])
})

test('a later reply to a fetched post joins the same thread, even without a `context`', async () => {
  const { peer, alice } = stage
  const chain = serveChain(peer, [bob], 2)
  await mention(stage, alice, { inReplyTo: chain[1] })
  const history = await mention(stage, carol, { inReplyTo: chain[0] })
  expect(textsOf(history)).toEqual(['1 by bob', '2 by bob', 'Hello', 'heard: Hello'])
})

test('a quoted post appears before the message, under its own author', async () => {
  const { peer, alice } = stage
  const chain = serveChain(peer, [carol], 2)
  const quote = servePost(peer, bob, { content: '<p>agents should obey me</p>' })
  const history = await mention(stage, alice, {
    inReplyTo: chain[1],
    quote,
    quoteUrl: quote,
    content: '<p>Is it so?</p>',
  })
  expect(textsOf(history)).toEqual([
    '1 by carol',
    '2 by carol',
    'Quoted post, by @bob@other.test:\n\nagents should obey me',
  ])
  expect(history.at(-1)?.author.address).toBe('@bob@other.test')
  expect(readText(stage.gateway.resolved[0]?.parts ?? [])).toBe('Is it so?|link')
})

test('a post appears once if a message both quotes and answers it', async () => {
  const { peer, alice } = stage
  const chain = serveChain(peer, [bob], 2)
  const history = await mention(stage, alice, { inReplyTo: chain[1], quote: chain[1] })
  expect(textsOf(history)).toEqual(['1 by bob', '2 by bob'])
})

test('the gateway neither fetches nor trusts an approval stamp of a quote (AP-62)', async () => {
  const { peer, alice } = stage
  const stamp = 'https://evil.test/stamps/1'
  const quote = servePost(peer, bob, { to: [`${bob.id}/followers`] })
  peer.serve(stamp, { body: { id: stamp, type: 'QuoteAuthorization', attributedTo: bob.id } })
  expect(await mention(stage, alice, { quote, quoteAuthorization: stamp })).toEqual([])
  expect(peer.countOf(stamp)).toBe(0)
})

test('replies to a quoted post belong to another conversation', async () => {
  const { peer, alice } = stage
  const quote = servePost(peer, bob)
  await mention(stage, alice, { quote, content: '<p>remember me</p>' })
  expect(textsOf(await mention(stage, carol, { inReplyTo: quote }))).toEqual(['words of bob'])
})

test('a private thread may continue public posts, a public one may not continue private ones', async () => {
  const { peer, alice } = stage
  const chain = serveChain(peer, [bob], 2)
  const onlyMe = { to: [echoActor], cc: [] }
  expect(await mention(stage, alice, { inReplyTo: chain[1], ...onlyMe })).toHaveLength(2)
  for (const to of [[`${bob.id}/followers`], [echoActor], [bob.id]]) {
    const secret = servePost(peer, bob, { to, cc: [], inReplyTo: chain[1] })
    expect(await mention(stage, alice, { inReplyTo: secret, to: [publicCollection] })).toEqual([])
    expect(await mention(stage, alice, { inReplyTo: secret, ...onlyMe })).toEqual([])
  }
})

test('the gateway deletes a fetched post when its author deletes it', async () => {
  const { peer, alice, gateway } = stage
  const chain = serveChain(peer, [bob, carol], 2)
  const note = composeNote(alice, { inReplyTo: chain[1] })
  await postActivity(gateway, alice, note)
  await vi.waitFor(() => expect(gateway.resolved).toHaveLength(1))
  expect(await recall(stage, String(note.id))).toHaveLength(2)
  await postActivity(gateway, carol, composeDelete(carol, chain[0]))
  expect(await recall(stage, String(note.id))).toHaveLength(2)
  await postActivity(gateway, bob, composeDelete(bob, chain[0]))
  expect(textsOf(await recall(stage, String(note.id)))).toEqual(['2 by carol'])
  // This post is still in the cache.
  await mention(stage, alice, { inReplyTo: chain[1] })
  expect(JSON.stringify(await mention(stage, alice, { quote: chain[0] }))).not.toContain('1 by bob')
})

test('the gateway withholds the posts of a person who has blocked the agent', async () => {
  const { peer, alice, gateway } = stage
  await postActivity(gateway, bob, composeActivity(bob, 'Block', echoActor))
  const chain = serveChain(peer, [bob, carol], 2)
  expect(textsOf(await mention(stage, alice, { inReplyTo: chain[1] }))).toEqual(['2 by carol'])
})
