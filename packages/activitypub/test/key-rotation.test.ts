import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentProfile } from '@postern/core'
import { Rejection } from '@postern/core'
import { openSqliteDesk } from '@postern/store'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { renderActorUpdate } from '../src/actor.ts'
import { createKeyRing } from '../src/keys.ts'
import { composeActivity } from './activity.ts'
import { origin } from './house.ts'
import { composeNote, postActivity } from './person.ts'
import type { Stage } from './stage.ts'
import { openStage } from './stage.ts'
import { createTestWorld } from './world.ts'

let stage: Stage | undefined
afterEach(() => stage?.close())

const echo = `${origin}/agents/echo`
const day = 86_400_000

async function openOne(): Promise<Stage> {
  stage = await openStage()
  return stage
}

interface Actor {
  readonly publicKey: unknown
  readonly assertionMethod: readonly { readonly id: string }[]
  readonly published: string
}

async function readDocument({ house }: Pick<Stage, 'house'>): Promise<Readonly<Record<string, unknown>>> {
  const answer = await house.app.request('/agents/echo', { headers: { accept: 'application/activity+json' } })
  return (await answer.json()) as Record<string, unknown>
}

async function readActor({ house }: Stage) {
  const actor = (await readDocument({ house })) as unknown as Actor
  const keys = [actor.publicKey].flat() as { id: string; publicKeyPem: string }[]
  return { ...actor, keys, ids: keys.map(({ id }) => id) }
}

test('rotateKeys() makes new keys, and the old ones stay listed behind them', async () => {
  const open = await openOne()
  const before = await readActor(open)
  const made = await open.house.channel.rotateKeys?.('echo')
  expect(made?.map(({ id }) => id)).toEqual([`${echo}#main-key-2`, `${echo}#ed25519-key-2`])
  const after = await readActor(open)
  expect(after.ids).toEqual([`${echo}#main-key-2`, `${echo}#main-key`])
  expect(after.keys[1]).toEqual(before.keys[0])
  expect(after.keys[0]?.publicKeyPem).not.toBe(before.keys[0]?.publicKeyPem)
  expect(after.assertionMethod.map(({ id }) => id)).toEqual([`${echo}#ed25519-key-2`, `${echo}#ed25519-key`])
  expect(after.published).toBe(before.published)
})

test('the old keys leave after a week, and the new ones stay', async () => {
  const open = await openOne()
  await open.house.channel.rotateKeys?.('echo')
  open.house.world.advance(6 * day)
  expect((await readActor(open)).ids).toHaveLength(2)
  open.house.world.advance(day + 60_000)
  const { publicKey, assertionMethod } = await readActor(open)
  expect(publicKey).toMatchObject({ id: `${echo}#main-key-2` })
  expect(assertionMethod).toMatchObject([{ id: `${echo}#ed25519-key-2` }])
})

test('the new key signs from now on', async () => {
  const open = await openOne()
  const { house, peer, alice } = open
  peer.serve('https://good.test/inbox', { status: 202 })
  house.work()
  await house.channel.rotateKeys?.('echo')
  await postActivity(house, alice, composeNote(alice))
  const posted = () => peer.requests.find(({ method }) => method === 'POST')
  await vi.waitFor(() => expect(posted()).toBeDefined(), { timeout: 5_000 })
  expect(posted()?.headers.signature).toContain(`keyId="${echo}#main-key-2"`)
  expect(JSON.parse(posted()?.body ?? '').proof.verificationMethod).toBe(`${echo}#ed25519-key-2`)
})

test('rotateKeys() of all takes every agent and the instance actor', async () => {
  const { house } = await openOne()
  const made = await house.channel.rotateKeys?.()
  const actors = [...new Set(made?.map(({ id }) => id.replace(/#.*/, '')))]
  expect(actors).toEqual([echo, `${origin}/agents/help`, `${origin}/actor`])
  expect((await house.channel.publishedKeys()).map(({ id }) => id)).toContain(`${origin}/actor#main-key-2`)
})

test('revoked keys are not listed for a moment longer, and the next rotation lets the new ones stay', async () => {
  const open = await openOne()
  await open.house.channel.rotateKeys?.('echo')
  const made = await open.house.channel.rotateKeys?.('echo', { isRevoking: true })
  expect(made?.map(({ id }) => id)).toEqual([`${echo}#main-key-3`, `${echo}#ed25519-key-3`])
  const { publicKey, assertionMethod, published } = await readActor(open)
  expect(publicKey).toMatchObject({ id: `${echo}#main-key-3` })
  expect(assertionMethod).toMatchObject([{ id: `${echo}#ed25519-key-3` }])
  expect(Date.parse(published)).not.toBeNaN()
  const listed = (await open.house.channel.publishedKeys()).map(({ id }) => id)
  expect(listed.filter(id => id.startsWith(`${echo}#`))).toEqual([`${echo}#main-key-3`, `${echo}#ed25519-key-3`])
  await open.house.channel.rotateKeys?.('echo')
  expect((await readActor(open)).ids).toEqual([`${echo}#main-key-4`, `${echo}#main-key-3`])
})

test('what is revoked for one agent stays with the others', async () => {
  const { house } = await openOne()
  await house.channel.publishedKeys()
  await house.channel.rotateKeys?.('echo', { isRevoking: true })
  const ids = (await house.channel.publishedKeys()).map(({ id }) => id)
  expect(ids).not.toContain(`${echo}#main-key`)
  expect(ids).toEqual(expect.arrayContaining([`${origin}/agents/help#main-key`, `${origin}/actor#main-key`]))
})

test('rotateKeys() refuses an agent that does not exist', async () => {
  const { house } = await openOne()
  await expect(house.channel.rotateKeys?.('nobody')).rejects.toThrow(
    new Rejection('no_recipient', 'Cannot rotate keys: there is no such agent'),
  )
})

test('two rotations at once are two, and looks meanwhile see one state or the other', async () => {
  const open = await openOne()
  await readActor(open)
  const rotate = () => open.house.channel.rotateKeys?.('echo')
  const looks = await Promise.all([rotate(), readActor(open), rotate(), readActor(open)])
  expect(looks[1]?.ids[0]).toMatch(/#main-key/)
  expect((await readActor(open)).ids).toEqual([`${echo}#main-key-3`, `${echo}#main-key-2`, `${echo}#main-key`])
})

test('keys and their rotation survive a restart, and are seen by another process', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'postern-keys-'))
  const world = createTestWorld(async () => {
    throw new Error('nothing goes out')
  })
  const now = () => world.now()
  const openRing = async () => {
    const desk = await openSqliteDesk({ path: join(directory, 'test.db'), now, log: world.log })
    return { desk, ring: createKeyRing({ desk, origin, now }) }
  }
  try {
    const first = await openRing()
    const other = await openRing()
    const made = await first.ring.find(echo)
    expect((await other.ring.find(echo)).request.publicKeyPem).toBe(made.request.publicKeyPem)
    await first.ring.rotate(echo, { isRevoking: true })
    const rotated = await first.ring.rotate(echo)
    expect(rotated.listed).toHaveLength(2)
    world.advance(61_000)
    expect((await other.ring.find(echo)).request.id).toBe(rotated.request.id)
    await Promise.all([first.desk.close(), other.desk.close()])
    const again = await openRing()
    const found = await again.ring.find(echo)
    expect(found.listed.map(({ request }) => request.publicKeyPem)).toEqual(
      rotated.listed.map(({ request }) => request.publicKeyPem),
    )
    expect(found.document.publicKeyMultibase).toBe(rotated.document.publicKeyMultibase)
    expect(found.actorMadeAt).toBe(made.actorMadeAt)
    await again.desk.close()
  } finally {
    await rm(directory, { recursive: true })
  }
})

describe('renderActorUpdate()', () => {
  const at = '2026-11-21T12:00:00.000Z'

  test('tells of the actor as it is served now, under an id that is made of the time', async () => {
    const open = await openOne()
    await open.house.channel.rotateKeys?.('echo')
    const { '@context': context, ...served } = await readDocument(open)
    const keys = await createKeyRing({ desk: open.house.desk, origin, now: open.house.world.now }).find(echo)
    const agent = open.house.agents.find('echo') as AgentProfile
    const change = { agent, keys, house: { origin, follows: 'open' as const }, at }
    const update = renderActorUpdate(change)
    expect(update).toEqual({
      '@context': context,
      id: `${echo}#updates/1795262400000`,
      type: 'Update',
      actor: echo,
      published: at,
      to: ['https://www.w3.org/ns/activitystreams#Public'],
      object: served,
    })
    expect(renderActorUpdate(change)).toEqual(update)
  })
})

test('rotateKeys() tells followers of the new keys, signed by the new one', async () => {
  const { house, alice, peer } = await openOne()
  for (const path of ['inbox', 'users/alice/inbox']) peer.serve(`https://good.test/${path}`, { status: 202 })
  house.work()
  await postActivity(house, alice, composeActivity(alice, 'Follow', echo))
  await house.channel.rotateKeys?.('echo')
  const updates = () => peer.requests.filter(({ body }) => body.includes('"type":"Update"'))
  await vi.waitFor(() => expect(updates()).toHaveLength(1))
  const [update] = updates()
  expect(JSON.parse(update?.body ?? '')).toMatchObject({
    type: 'Update',
    actor: echo,
    object: { id: echo, type: 'Service', publicKey: [{ id: `${echo}#main-key-2` }, { id: `${echo}#main-key` }] },
  })
  expect(update?.headers.signature).toContain(`keyId="${echo}#main-key-2"`)
})
