import { afterEach, describe, expect, test } from 'vitest'
import { instanceActorIri } from '../../src/format/own-iris.ts'
import { createDeletedCheck } from '../../src/inboxes/deleted-actors.ts'
import { createKeyRing } from '../../src/keys/key-ring.ts'
import { createSignatureFallback } from '../../src/keys/signature-fallback.ts'
import { createDocumentFetch } from '../../src/peers/document-fetch.ts'
import { origin } from '../gateway.ts'
import { composeNote, postActivity } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// The numbers in the titles are rows of the ActivityPub bug history.

const dayMs = 24 * 3_600_000

let stage: Stage
afterEach(() => stage.close())

/** Opens a gateway where Alice follows the agent and has written to it. */
async function openDeletedCheck() {
  stage = await openStage()
  const { gateway, alice, peer } = stage
  const { system, store } = gateway
  const now = () => system.now()
  const follow = { id: `${alice.id}/follow`, type: 'Follow', actor: alice.id, object: `${origin}/agents/echo` }
  await postActivity(gateway, alice, { '@context': 'https://www.w3.org/ns/activitystreams', ...follow })
  await postActivity(gateway, alice, composeNote(alice))
  peer.forget()
  const keys = createKeyRing({ store, origin, now })
  const send = createSignatureFallback({ fetch: system.fetch, now })
  const instanceActor = instanceActorIri(origin)
  const fetchDocument = createDocumentFetch({ system, send, keys, isBlocked: () => false, instanceActor })
  return createDeletedCheck({ fetchDocument, store, system })
}

function answerFor(status: number): void {
  stage.peer.serve(stage.alice.id, status === 200 ? { body: stage.alice.document } : { status })
}

async function countRemaining(): Promise<{ readonly followers: number; readonly words: number }> {
  const echo = { via: 'activitypub', agent: 'echo', relation: 'follower' } as const
  const notes = (await stage.listStoredMessages()).filter(({ message }) => (message.kind ?? 'message') === 'message')
  return {
    followers: await stage.gateway.store.countRelations(echo),
    words: notes.filter(({ message }) => message.parts.length > 0).length,
  }
}

const all = { followers: 1, words: 1 }

describe('createDeletedCheck()', () => {
  test('deletes an actor when its server answers 410 (AP-31)', async () => {
    const check = await openDeletedCheck()
    answerFor(410)
    await check(stage.alice.id)
    expect(await countRemaining()).toEqual({ followers: 0, words: 0 })
    expect(stage.gateway.system.logged.filter(({ text }) => text.startsWith('peer forgotten'))).toHaveLength(1)
  })

  test('keeps a missing actor at first, since its server may be in trouble (AP-31)', async () => {
    const check = await openDeletedCheck()
    answerFor(404)
    await check(stage.alice.id)
    stage.gateway.system.advance(dayMs / 2)
    await check(stage.alice.id)
    expect(stage.peer.countOf(stage.alice.id)).toBe(2)
    expect(await countRemaining()).toEqual(all)
  })

  test('ends the follows of an actor that is missing for a day, and keeps its messages (AP-31)', async () => {
    const check = await openDeletedCheck()
    answerFor(404)
    await check(stage.alice.id)
    stage.gateway.system.advance(dayMs)
    await check(stage.alice.id)
    expect(await countRemaining()).toEqual({ followers: 0, words: 1 })
  })

  test('keeps the relations of an actor that reappears within the day', async () => {
    const check = await openDeletedCheck()
    for (const status of [404, 200, 404]) {
      answerFor(status)
      await check(stage.alice.id)
      stage.gateway.system.advance(dayMs)
    }
    expect(stage.peer.countOf(stage.alice.id)).toBe(3)
    expect(await countRemaining()).toEqual(all)
  })

  test.each([200, 401, 403, 429, 500, 503])('changes nothing after an answer of %s', async status => {
    const check = await openDeletedCheck()
    answerFor(status)
    for (let count = 0; count < 3; count += 1) {
      await check(stage.alice.id)
      stage.gateway.system.advance(dayMs)
    }
    expect(await countRemaining()).toEqual(all)
  })

  test.each(['no address', 'http://good.test/users/alice', 'https://127.0.0.1/users/alice', 'https://nowhere.test/x'])(
    'does not throw over "%s"',
    async peer => {
      const check = await openDeletedCheck()
      await expect(check(peer)).resolves.toBeUndefined()
      expect(await countRemaining()).toEqual(all)
    },
  )

  test('checks an actor once for several concurrent or close requests', async () => {
    const check = await openDeletedCheck()
    answerFor(200)
    await Promise.all([1, 2, 3].map(() => check(stage.alice.id)))
    await check(stage.alice.id)
    expect(stage.peer.countOf(stage.alice.id)).toBe(1)
    stage.gateway.system.advance(3_600_000)
    await check(stage.alice.id)
    expect(stage.peer.countOf(stage.alice.id)).toBe(2)
  })

  test('sends at most sixty requests a minute to a server that loses all its actors at once', async () => {
    const check = await openDeletedCheck()
    await Promise.all(Array.from({ length: 100 }, (_, at) => check(`https://good.test/users/${at}`)))
    expect(stage.peer.requests).toHaveLength(60)
  })
})

test('a delivery to a deleted actor is a dead letter, and the gateway then deletes the actor (AP-31)', async () => {
  stage = await openStage()
  const { gateway, alice, peer } = stage
  await postActivity(gateway, alice, composeNote(alice))
  answerFor(410)
  peer.serve('https://good.test/inbox', { status: 410 })
  gateway.work()
  await expect.poll(async () => (await countRemaining()).words).toBe(0)
  const [delivery] = await gateway.store.listDeliveries({ limit: 1 })
  expect(delivery).toMatchObject({ state: 'dead', attempts: 1 })
})
