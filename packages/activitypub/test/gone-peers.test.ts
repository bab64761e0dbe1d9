import { afterEach, describe, expect, test } from 'vitest'
import { createDocumentFetch } from '../src/document-fetch.ts'
import type { GonePeers } from '../src/gone-peer.ts'
import { createGonePeers } from '../src/gone-peer.ts'
import { createKeyRing } from '../src/keys.ts'
import { createKnocker } from '../src/knock.ts'
import { instanceActorIri } from '../src/own-iris.ts'
import { origin } from './house.ts'
import { composeNote, postActivity } from './person.ts'
import type { Stage } from './stage.ts'
import { openStage } from './stage.ts'

// Numbers are rows of the ActivityPub bug history.

const dayMs = 24 * 3_600_000

let stage: Stage
afterEach(() => stage.close())

/** Alice follows the agent and has written to it. */
async function openGonePeers(): Promise<GonePeers> {
  stage = await openStage()
  const { house, alice, peer } = stage
  const { world, desk } = house
  const now = () => world.now()
  const follow = { id: `${alice.id}/follow`, type: 'Follow', actor: alice.id, object: `${origin}/agents/echo` }
  await postActivity(house, alice, { '@context': 'https://www.w3.org/ns/activitystreams', ...follow })
  await postActivity(house, alice, composeNote(alice))
  peer.forget()
  const keys = createKeyRing({ desk, origin, now })
  const send = createKnocker({ fetch: world.fetch, now })
  const instanceActor = instanceActorIri(origin)
  const fetchDocument = createDocumentFetch({ world, send, keys, isBlocked: () => false, instanceActor })
  return createGonePeers({ fetchDocument, desk, world })
}

function answerFor(status: number): void {
  stage.peer.serve(stage.alice.id, status === 200 ? { body: stage.alice.document } : { status })
}

async function left(): Promise<{ readonly followers: number; readonly words: number }> {
  const echo = { via: 'activitypub', agent: 'echo', relation: 'follower' } as const
  const notes = (await stage.stored()).filter(({ message }) => (message.kind ?? 'message') === 'message')
  return {
    followers: await stage.house.desk.countRelations(echo),
    words: notes.filter(({ message }) => message.parts.length > 0).length,
  }
}

const all = { followers: 1, words: 1 }

describe('GonePeers.check()', () => {
  test('AP-31: an actor whose server says that it is gone is forgotten', async () => {
    const gone = await openGonePeers()
    answerFor(410)
    await gone.check(stage.alice.id)
    expect(await left()).toEqual({ followers: 0, words: 0 })
    expect(stage.house.world.logged.filter(({ text }) => text.startsWith('peer forgotten'))).toHaveLength(1)
  })

  test('AP-31: an actor that is not found is forgotten by nobody at once: the server may be in trouble', async () => {
    const gone = await openGonePeers()
    answerFor(404)
    await gone.check(stage.alice.id)
    stage.house.world.advance(dayMs / 2)
    await gone.check(stage.alice.id)
    expect(stage.peer.countOf(stage.alice.id)).toBe(2)
    expect(await left()).toEqual(all)
  })

  test('AP-31: an actor that is not found for a day follows no more; its words stay', async () => {
    const gone = await openGonePeers()
    answerFor(404)
    await gone.check(stage.alice.id)
    stage.house.world.advance(dayMs)
    await gone.check(stage.alice.id)
    expect(await left()).toEqual({ followers: 0, words: 1 })
  })

  test('an actor that was found in between is not gone', async () => {
    const gone = await openGonePeers()
    for (const status of [404, 200, 404]) {
      answerFor(status)
      await gone.check(stage.alice.id)
      stage.house.world.advance(dayMs)
    }
    expect(stage.peer.countOf(stage.alice.id)).toBe(3)
    expect(await left()).toEqual(all)
  })

  test.each([200, 401, 403, 429, 500, 503])('an answer of %s changes nothing', async status => {
    const gone = await openGonePeers()
    answerFor(status)
    for (let count = 0; count < 3; count += 1) {
      await gone.check(stage.alice.id)
      stage.house.world.advance(dayMs)
    }
    expect(await left()).toEqual(all)
  })

  test.each(['no address', 'http://good.test/users/alice', 'https://127.0.0.1/users/alice', 'https://nowhere.test/x'])(
    'does not throw over "%s"',
    async peer => {
      const gone = await openGonePeers()
      await expect(gone.check(peer)).resolves.toBeUndefined()
      expect(await left()).toEqual(all)
    },
  )

  test('asks once, whoever asks at the same time or soon after', async () => {
    const gone = await openGonePeers()
    answerFor(200)
    await Promise.all([1, 2, 3].map(() => gone.check(stage.alice.id)))
    await gone.check(stage.alice.id)
    expect(stage.peer.countOf(stage.alice.id)).toBe(1)
    stage.house.world.advance(3_600_000)
    await gone.check(stage.alice.id)
    expect(stage.peer.countOf(stage.alice.id)).toBe(2)
  })

  test('a server that loses all its actors at once is asked about sixty a minute', async () => {
    const gone = await openGonePeers()
    await Promise.all(Array.from({ length: 100 }, (_, at) => gone.check(`https://good.test/users/${at}`)))
    expect(stage.peer.requests).toHaveLength(60)
  })
})

test('AP-31: an inbox that is gone, with its actor, is a dead letter and ends in forgetting', async () => {
  stage = await openStage()
  const { house, alice, peer } = stage
  await postActivity(house, alice, composeNote(alice))
  answerFor(410)
  peer.serve('https://good.test/inbox', { status: 410 })
  house.work()
  await expect.poll(async () => (await left()).words).toBe(0)
  const [delivery] = await house.desk.listDeliveries({ limit: 1 })
  expect(delivery).toMatchObject({ state: 'dead', attempts: 1 })
})
