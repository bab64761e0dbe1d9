import { afterEach, expect, test, vi } from 'vitest'
import { composeActivity, composeUndo, echoActor } from '../activity.ts'
import type { ActivityPubGateway } from '../gateway.ts'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

let stage: Stage

async function openWith(config: Parameters<typeof openStage>[0] = {}): Promise<Stage> {
  stage = await openStage(config)
  for (const path of ['inbox', 'users/alice/inbox', 'users/bob/inbox']) {
    stage.peer.serve(`https://good.test/${path}`, { status: 202 })
  }
  return stage
}

afterEach(() => stage.close())

async function totalOf({ app }: ActivityPubGateway, kind = 'followers'): Promise<number> {
  const answer = await app.request(`/agents/echo/${kind}`, { headers: { accept: 'application/activity+json' } })
  return ((await answer.json()) as { totalItems: number }).totalItems
}

/** Returns the posts to the peer's inboxes. */
function posted() {
  return stage.peer.requests
    .filter(({ method }) => method === 'POST')
    .map(({ path, body }) => ({ path, ...JSON.parse(body) }))
}

test('the gateway accepts a Follow, counts the follower and informs the agent', async () => {
  const { gateway, alice } = await openWith()
  gateway.work()
  const follow = composeActivity(alice, 'Follow', echoActor)
  expect(await postActivity(gateway, alice, follow)).toMatchObject({ status: 202 })
  await vi.waitFor(() => expect(posted()).toHaveLength(2))
  const accept = posted().find(({ type }) => type === 'Accept')
  expect(accept).toMatchObject({
    path: '/users/alice/inbox',
    actor: echoActor,
    to: [alice.id],
    object: { id: follow.id, type: 'Follow', actor: alice.id, object: echoActor },
  })
  expect(accept?.id).toMatch(/^https:\/\/agents\.test\/agents\/echo#accepts\/[0-9a-f]{32}$/)
  expect(await totalOf(gateway)).toBe(1)
  expect(gateway.resolved).toMatchObject([
    { id: follow.id, kind: 'follow', thread_source: alice.id, sender: { address: '@alice@good.test', verified: true } },
  ])
  expect(gateway.resolved[0]?.parts).toEqual([{ kind: 'text', mime: 'text/plain', content: 'Follows you' }])
})

test('an answer to a Follow is a direct post to the follower that replies to no post', async () => {
  const { gateway, alice } = await openWith()
  gateway.work()
  await postActivity(gateway, alice, composeActivity(alice, 'Follow', echoActor))
  await vi.waitFor(() => expect(posted().map(({ type }) => type)).toContain('Create'))
  const { object, to, cc } = posted().find(({ type }) => type === 'Create') ?? {}
  expect(object).toMatchObject({ inReplyTo: null, to: [alice.id], cc: [] })
  expect([to, cc]).toEqual([[alice.id], []])
})

test('a repeated Accept is the same document', async () => {
  const { gateway, peer, alice } = await openWith()
  const statuses = [503, 202]
  peer.serve(`${alice.id}/inbox`, () => ({ status: statuses.shift() ?? 202 }))
  gateway.work()
  await postActivity(gateway, alice, composeActivity(alice, 'Follow', echoActor))
  const accepts = () => posted().filter(({ type }) => type === 'Accept')
  await vi.waitFor(() => expect(accepts()).toHaveLength(2))
  const [first, second] = accepts()
  expect({ ...second, proof: undefined }).toEqual({ ...first, proof: undefined })
})

test('a repeated Follow makes one follower', async () => {
  const { gateway, alice } = await openWith()
  const follow = composeActivity(alice, 'Follow', echoActor)
  await postActivity(gateway, alice, follow)
  await postActivity(gateway, alice, follow, { path: '/inbox' })
  await postActivity(gateway, alice, composeActivity(alice, 'Follow', echoActor))
  expect(await totalOf(gateway)).toBe(1)
  expect(await stage.listStoredMessages()).toHaveLength(2)
})

test.each([
  ['embedded', (follow: Record<string, unknown>) => follow],
  ['by its id', (follow: Record<string, unknown>) => follow.id],
  [
    'embedded under an id nobody remembers',
    (follow: Record<string, unknown>) => ({ ...follow, id: 'https://good.test/forgotten' }),
  ],
  ['embedded without an id', (follow: Record<string, unknown>) => ({ ...follow, id: undefined })],
])('an Undo of a Follow, %s, ends it, and the agent learns of it', async (_, refer) => {
  const { gateway, alice } = await openWith()
  const follow = composeActivity(alice, 'Follow', echoActor)
  await postActivity(gateway, alice, follow)
  expect(await postActivity(gateway, alice, composeActivity(alice, 'Undo', refer(follow)))).toMatchObject({
    status: 202,
  })
  expect(await totalOf(gateway)).toBe(0)
  const [notice] = await stage.listStoredMessages()
  expect(notice?.message).toMatchObject({ kind: 'unfollow', parts: [{ content: 'No longer follows you' }] })
})

test('a second Follow with the id of the first gets an Accept again (Misskey)', async () => {
  const { gateway, alice } = await openWith()
  const follow = composeActivity(alice, 'Follow', echoActor)
  for (const total of [1, 1]) {
    await postActivity(gateway, alice, follow)
    expect(await totalOf(gateway)).toBe(total)
    await postActivity(gateway, alice, composeUndo(alice, follow))
    expect(await totalOf(gateway)).toBe(0)
  }
})

test('an Undo of another actor’s Follow has no effect (AP-57)', async () => {
  const { gateway, peer, alice, mallory } = await openWith()
  const bob = settlePerson(peer, 'bob@good.test')
  const follow = composeActivity(alice, 'Follow', echoActor)
  await postActivity(gateway, alice, follow)
  for (const thief of [mallory, bob]) {
    expect(await postActivity(gateway, thief, composeUndo(thief, follow))).toMatchObject({ status: 202 })
    expect(await postActivity(gateway, thief, composeActivity(thief, 'Undo', follow.id))).toMatchObject({ status: 202 })
    const disguised = { ...follow, actor: thief.id }
    expect(await postActivity(gateway, thief, composeUndo(thief, disguised))).toMatchObject({ status: 202 })
  }
  expect(await totalOf(gateway)).toBe(1)
  expect(await stage.listStoredMessages()).toHaveLength(1)
})

test('a manual policy makes a new follower wait for the operator, and accepts a known one', async () => {
  const { gateway, alice } = await openWith({ config: { follows: 'manual' } })
  gateway.work()
  await postActivity(gateway, alice, composeActivity(alice, 'Follow', echoActor))
  expect(await totalOf(gateway)).toBe(0)
  const pending = { via: 'activitypub', agent: 'echo', relation: 'pending', peer: alice.id } as const
  expect(await gateway.store.findRelation(pending)).toMatchObject({
    target: { inbox: `${alice.id}/inbox`, sharedInbox: 'https://good.test/inbox', address: '@alice@good.test' },
  })
  const [request] = await stage.listStoredMessages()
  expect(request).toMatchObject({ state: 'ignored', flags: ['follow_request'], deliveries: [] })
  const actor = await gateway.app.request('/agents/echo', { headers: { accept: 'application/activity+json' } })
  expect(await actor.json()).toMatchObject({ manuallyApprovesFollowers: true })
})

test.each([
  [true, 'Accept', 1],
  [false, 'Reject', 0],
])('the operator decides who follows (accepted: %s)', async (isAccepted, type, total) => {
  const { gateway, alice } = await openWith({ config: { follows: 'manual' } })
  gateway.work()
  const follow = composeActivity(alice, 'Follow', echoActor)
  await postActivity(gateway, alice, follow)
  const decide = (peer: string) => gateway.channel.peers?.decideFollow?.('echo', peer, isAccepted)
  expect(await decide('https://good.test/users/bob')).toBe(false)
  expect(await decide(alice.id)).toBe(true)
  expect(await decide(alice.id)).toBe(false)
  await vi.waitFor(() => expect(posted()).toMatchObject([{ type, actor: echoActor, object: { id: follow.id } }]))
  expect(await totalOf(gateway)).toBe(total)
})

test('a peer can withdraw a waiting request', async () => {
  const { gateway, alice } = await openWith({ config: { follows: 'manual' } })
  const follow = composeActivity(alice, 'Follow', echoActor)
  await postActivity(gateway, alice, follow)
  await postActivity(gateway, alice, composeUndo(alice, follow))
  expect(await gateway.store.countRelations({ via: 'activitypub', agent: 'echo', relation: 'pending' })).toBe(0)
  expect((await stage.listStoredMessages())[0]).toMatchObject({ state: 'ignored' })
})

test('a closed policy rejects a Follow', async () => {
  const { gateway, alice } = await openWith({ config: { follows: 'closed' } })
  gateway.work()
  await postActivity(gateway, alice, composeActivity(alice, 'Follow', echoActor))
  await vi.waitFor(() =>
    expect(posted()).toMatchObject([{ type: 'Reject', actor: echoActor, path: '/users/alice/inbox' }]),
  )
  expect(await totalOf(gateway)).toBe(0)
  expect(gateway.resolved).toEqual([])
})

test('a peer that blocks an agent gets no posts, and its posts do not reach the agent', async () => {
  const { gateway, alice } = await openWith()
  await postActivity(gateway, alice, composeActivity(alice, 'Follow', echoActor))
  await postActivity(gateway, alice, composeNote(alice))
  const block = composeActivity(alice, 'Block', echoActor)
  expect(await postActivity(gateway, alice, block)).toMatchObject({ status: 202 })
  expect(await totalOf(gateway)).toBe(0)
  await postActivity(gateway, alice, composeNote(alice))
  const worker = gateway.work()
  const [laterMessage, blockNotice, earlierMessage] = await stage.listStoredMessages()
  expect(laterMessage).toMatchObject({ state: 'ignored', flags: ['blocked_by'] })
  expect(blockNotice).toMatchObject({ message: { id: block.id }, state: 'ignored', flags: ['blocked_by'] })
  expect(earlierMessage).toMatchObject({ state: 'failed', error: 'canceled' })
  await worker.stop(500)
  expect(gateway.resolved).toEqual([])
  expect(posted()).toEqual([])
})

test('a mention of a person who blocks the agent does not reach them', async () => {
  const mentions = ['@bob@good.test']
  const agents = {
    echo: { handle: () => ({ parts: [{ kind: 'text', mime: 'text/plain', content: 'hi' } as const], mentions }) },
  }
  const { gateway, peer, alice } = await openWith({ agents })
  const bob = settlePerson(peer, 'bob@good.test')
  await postActivity(gateway, bob, composeActivity(bob, 'Block', echoActor))
  gateway.work()
  await postActivity(gateway, alice, composeNote(alice))
  await vi.waitFor(async () => expect(await gateway.store.listDeliveries({ limit: 9, state: 'dead' })).toHaveLength(1))
  await vi.waitFor(() => expect(posted()).toHaveLength(1))
  expect(posted().map(({ path }) => path)).toEqual(['/inbox'])
})

test.each([true, false])('an Undo of a block lifts it (embedded: %s)', async isEmbedded => {
  const { gateway, alice } = await openWith()
  const block = composeActivity(alice, 'Block', echoActor)
  await postActivity(gateway, alice, block)
  await postActivity(gateway, alice, composeActivity(alice, 'Undo', isEmbedded ? block : block.id))
  await postActivity(gateway, alice, composeNote(alice))
  const [note, lifted] = await stage.listStoredMessages()
  expect(note).toMatchObject({ state: 'received', flags: [] })
  expect(lifted).toMatchObject({ state: 'ignored', flags: ['unblocked'] })
})

test('an actor cannot lift the block of another one (AP-57)', async () => {
  const { gateway, alice, mallory } = await openWith()
  const block = composeActivity(alice, 'Block', echoActor)
  await postActivity(gateway, alice, block)
  await postActivity(gateway, mallory, composeUndo(mallory, block))
  await postActivity(gateway, alice, composeNote(alice))
  expect((await stage.listStoredMessages())[0]).toMatchObject({ flags: ['blocked_by'] })
})

test('a report reaches only the operator, with its text and object', async () => {
  const { gateway, alice } = await openWith()
  const flag = composeActivity(alice, 'Flag', [echoActor, `${echoActor}/posts/1`], { content: 'Spams <b>me</b>' })
  expect(await postActivity(gateway, alice, flag)).toMatchObject({ status: 202 })
  const [report] = await stage.listStoredMessages()
  expect(report).toMatchObject({ state: 'ignored', flags: ['report'], message: { id: flag.id } })
  expect(report?.message.parts).toEqual([
    { kind: 'text', mime: 'text/plain', content: 'Report: Spams me' },
    { kind: 'link', url: echoActor, title: 'Reported' },
    { kind: 'link', url: `${echoActor}/posts/1`, title: 'Reported' },
  ])
})
