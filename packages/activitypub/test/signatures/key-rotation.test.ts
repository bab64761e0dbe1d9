import { createPublicKey } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Rejection } from '@postern/message'
import type { AgentProfile } from '@postern/pipeline'
import { performActions } from '@postern/pipeline'
import { openSqliteStore } from '@postern/store'
import { sketchedChannels } from '@postern/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { renderActorUpdate } from '../../src/actors/render-actor.ts'
import { createKeyRing } from '../../src/keys/key-ring.ts'
import { formatRsaMultikey } from '../../src/signature/public-keys.ts'
import { composeActivity } from '../activity.ts'
import { origin } from '../gateway.ts'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'
import { createTestSystem } from '../system.ts'

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
  readonly assertionMethod: readonly { readonly id: string; readonly publicKeyMultibase: string }[]
  readonly published: string
}

async function readDocument({ gateway }: Pick<Stage, 'gateway'>): Promise<Readonly<Record<string, unknown>>> {
  const answer = await gateway.app.request('/agents/echo', { headers: { accept: 'application/activity+json' } })
  return (await answer.json()) as Record<string, unknown>
}

async function readActor({ gateway }: Stage) {
  const actor = (await readDocument({ gateway })) as unknown as Actor
  const key = actor.publicKey as { readonly id: string; readonly publicKeyPem: string }
  const replaced = actor.assertionMethod.filter(({ id }) => id.includes('#main-key'))
  return { ...actor, key, replaced, ids: [key.id, ...replaced.map(({ id }) => id)] }
}

test('keys.rotate() creates new keys and keeps the old ones in the actor, after the new ones', async () => {
  const open = await openOne()
  const before = await readActor(open)
  const rotation = await open.gateway.channel.keys?.rotate?.('echo')
  expect(rotation?.map(({ id }) => id)).toEqual([`${echo}#main-key-2`, `${echo}#ed25519-key-2`])
  const after = await readActor(open)
  expect(after.ids).toEqual([`${echo}#main-key-2`, `${echo}#main-key`])
  const old = formatRsaMultikey(createPublicKey(before.key.publicKeyPem))
  expect(after.replaced.map(({ publicKeyMultibase }) => publicKeyMultibase)).toEqual([old])
  expect(after.key.publicKeyPem).not.toBe(before.key.publicKeyPem)
  const proving = after.assertionMethod.map(({ id }) => id).filter(id => id.includes('#ed25519'))
  expect(proving).toEqual([`${echo}#ed25519-key-2`, `${echo}#ed25519-key`])
  expect(after.published).toBe(before.published)
})

test('publicKey is never a list, because snac and others cannot read one', async () => {
  const open = await openOne()
  await open.gateway.channel.keys?.rotate?.('echo')
  expect((await readActor(open)).publicKey).toEqual({
    id: `${echo}#main-key-2`,
    owner: echo,
    publicKeyPem: expect.stringContaining('BEGIN PUBLIC KEY'),
  })
})

test('the actor drops the old keys after a week', async () => {
  const open = await openOne()
  await open.gateway.channel.keys?.rotate?.('echo')
  open.gateway.system.advance(6 * day)
  expect((await readActor(open)).ids).toHaveLength(2)
  open.gateway.system.advance(day + 60_000)
  const { publicKey, assertionMethod } = await readActor(open)
  expect(publicKey).toMatchObject({ id: `${echo}#main-key-2` })
  expect(assertionMethod).toMatchObject([{ id: `${echo}#ed25519-key-2` }])
})

/** Opens an honest server of Alice, which answers 202 to everything. `posts` lists signers and activities in order. */
async function openHost() {
  const open = await openOne()
  for (const path of ['inbox', 'users/alice/inbox']) open.peer.serve(`https://good.test/${path}`, { status: 202 })
  const posts = () => open.peer.requests.filter(({ method }) => method === 'POST')
  const keyIdOf = (signature: unknown) => /keyId="([^"]+)"/.exec(String(signature))?.[1]
  const listTypesAndKeys = () =>
    posts().map(({ headers, body }) => [(JSON.parse(body) as { type: string }).type, keyIdOf(headers.signature)])
  open.gateway.work()
  return { ...open, posts, told: listTypesAndKeys }
}

test('the gateway announces the new key once with an Update signed by the old key, and then signs with the new key', async () => {
  const { gateway, alice, posts, told } = await openHost()
  await gateway.channel.keys?.rotate?.('echo')
  await postActivity(gateway, alice, composeNote(alice))
  await vi.waitFor(() => expect(posts()).toHaveLength(2))
  const [introduction, answer] = posts().map(({ body }) => JSON.parse(body))
  expect(introduction).toMatchObject({ to: [alice.id], object: { id: echo, to: [alice.id] } })
  expect(introduction.object.publicKey.id).toBe(`${echo}#main-key-2`)
  expect(answer.proof.verificationMethod).toBe(`${echo}#ed25519-key-2`)
  await postActivity(gateway, alice, composeNote(alice))
  await vi.waitFor(() => expect(posts()).toHaveLength(3))
  expect(told()).toEqual([
    ['Update', `${echo}#main-key`],
    ['Create', `${echo}#main-key-2`],
    ['Create', `${echo}#main-key-2`],
  ])
})

test('the gateway repeats the Update if the host did not answer', async () => {
  const { gateway, peer, alice, told } = await openHost()
  const inbox = 'https://good.test/users/alice/inbox'
  peer.serve(inbox, { status: 503 })
  await gateway.channel.keys?.rotate?.('echo')
  await postActivity(gateway, alice, composeNote(alice))
  await vi.waitFor(() => expect(told()).not.toEqual([]))
  peer.serve(inbox, { status: 202 })
  gateway.system.advance(3_600_000)
  await vi.waitFor(() => expect(told().at(-1)?.[0]).toBe('Create'))
  expect(told().slice(-2)).toEqual([
    ['Update', `${echo}#main-key`],
    ['Create', `${echo}#main-key-2`],
  ])
})

test('a host gets the notice even if a stranger named a wrong inbox there', async () => {
  const { gateway, peer, alice, mallory, told } = await openHost()
  const inbox = 'https://good.test/contact'
  peer.serve(inbox, { status: 404 })
  const document = { inbox, endpoints: undefined }
  const eve = settlePerson(peer, 'eve@evil.test', { key: mallory.key, document })
  await gateway.channel.keys?.rotate?.('echo')
  await postActivity(gateway, eve, composeNote(eve))
  await vi.waitFor(() => expect(told()).toHaveLength(2))
  await postActivity(gateway, alice, composeNote(alice))
  await vi.waitFor(() => expect(told()).toHaveLength(4))
  expect(told()[2]).toEqual(['Update', `${echo}#main-key`])
})

test('a waiting delivery gets a new signature when the operator revokes its key', async () => {
  const { gateway, peer, alice, posts } = await openHost()
  await postActivity(gateway, alice, composeActivity(alice, 'Follow', echo))
  peer.serve('https://good.test/inbox', { status: 503 })
  const { store, system, channel } = gateway
  const parts = [{ kind: 'text' as const, mime: 'text/plain' as const, content: 'to all' }]
  const acting = { agent: 'echo', address: '@echo@agents.test' }
  await performActions([{ act: 'post', parts }], acting, { store, system, channels: [channel] })
  const provenBy = () =>
    posts()
      .map(({ path, body }) => ({ path, ...JSON.parse(body) }))
      .filter(({ path, type }) => path === '/inbox' && type === 'Create')
      .map(({ proof }) => proof.verificationMethod)
  await vi.waitFor(() => expect(provenBy()).not.toEqual([]))
  await gateway.channel.keys?.rotate?.('echo', { isRevoking: true })
  peer.serve('https://good.test/inbox', { status: 202 })
  await vi.waitFor(() => expect(provenBy().at(-1)).toBe(`${echo}#ed25519-key-2`))
})

test('a revoked key cannot introduce a new one', async () => {
  const { gateway, alice, posts, told } = await openHost()
  await gateway.channel.keys?.rotate?.('echo', { isRevoking: true })
  await postActivity(gateway, alice, composeNote(alice))
  await vi.waitFor(() => expect(posts()).toHaveLength(1))
  expect(told()).toEqual([['Create', `${echo}#main-key-2`]])
})

test('keys.rotate() without an agent rotates the keys of every agent and of the instance actor', async () => {
  const { gateway } = await openOne()
  const rotation = await gateway.channel.keys?.rotate?.()
  const actors = [...new Set(rotation?.map(({ id }) => id.replace(/#.*/, '')))]
  expect(actors).toEqual([echo, `${origin}/agents/help`, `${origin}/actor`])
  expect((await gateway.channel.keys?.list())?.map(({ id }) => id)).toContain(`${origin}/actor#main-key-2`)
})

test('revoked keys disappear at once, and the next rotation keeps the new ones', async () => {
  const open = await openOne()
  await open.gateway.channel.keys?.rotate?.('echo')
  const rotation = await open.gateway.channel.keys?.rotate?.('echo', { isRevoking: true })
  expect(rotation?.map(({ id }) => id)).toEqual([`${echo}#main-key-3`, `${echo}#ed25519-key-3`])
  const { publicKey, assertionMethod, published } = await readActor(open)
  expect(publicKey).toMatchObject({ id: `${echo}#main-key-3` })
  expect(assertionMethod).toMatchObject([{ id: `${echo}#ed25519-key-3` }])
  expect(Date.parse(published)).not.toBeNaN()
  const listed = ((await open.gateway.channel.keys?.list()) ?? []).map(({ id }) => id)
  expect(listed.filter(id => id.startsWith(`${echo}#`))).toEqual([`${echo}#main-key-3`, `${echo}#ed25519-key-3`])
  await open.gateway.channel.keys?.rotate?.('echo')
  expect((await readActor(open)).ids).toEqual([`${echo}#main-key-4`, `${echo}#main-key-3`])
})

test('the revocation of one agent’s key leaves other agents’ keys', async () => {
  const { gateway } = await openOne()
  await gateway.channel.keys?.list()
  await gateway.channel.keys?.rotate?.('echo', { isRevoking: true })
  const ids = ((await gateway.channel.keys?.list()) ?? []).map(({ id }) => id)
  expect(ids).not.toContain(`${echo}#main-key`)
  expect(ids).toEqual(expect.arrayContaining([`${origin}/agents/help#main-key`, `${origin}/actor#main-key`]))
})

test('keys.rotate() refuses an unknown agent', async () => {
  const { gateway } = await openOne()
  await expect(gateway.channel.keys?.rotate?.('nobody')).rejects.toThrow(
    new Rejection('no_recipient', 'Cannot rotate keys: there is no such agent'),
  )
})

test('two concurrent rotations both take effect, and readers see only complete states', async () => {
  const open = await openOne()
  await readActor(open)
  const rotate = () => open.gateway.channel.keys?.rotate?.('echo')
  const results = await Promise.all([rotate(), readActor(open), rotate(), readActor(open)])
  expect(results[1]?.ids[0]).toMatch(/#main-key/)
  expect((await readActor(open)).ids).toEqual([`${echo}#main-key-3`, `${echo}#main-key-2`, `${echo}#main-key`])
})

test('keys and their rotation survive a restart, and other processes see them', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'postern-keys-'))
  const system = createTestSystem(async () => {
    throw new Error('nothing goes out')
  })
  const now = () => system.now()
  const openRing = async () => {
    const store = await openSqliteStore({
      channels: sketchedChannels,
      path: join(directory, 'test.db'),
      now,
      log: system.log,
    })
    return { store, ring: createKeyRing({ store, origin, now }) }
  }
  try {
    const first = await openRing()
    const other = await openRing()
    const ownKeys = await first.ring.find(echo)
    expect((await other.ring.find(echo)).requestKey.publicKeyPem).toBe(ownKeys.requestKey.publicKeyPem)
    await first.ring.rotate(echo, { isRevoking: true })
    const rotated = await first.ring.rotate(echo)
    expect(rotated.listedKeys).toHaveLength(2)
    system.advance(61_000)
    expect((await other.ring.find(echo)).requestKey.id).toBe(rotated.requestKey.id)
    await Promise.all([first.store.close(), other.store.close()])
    const again = await openRing()
    const actorKeys = await again.ring.find(echo)
    expect(actorKeys.listedKeys.map(({ requestKey }) => requestKey.publicKeyPem)).toEqual(
      rotated.listedKeys.map(({ requestKey }) => requestKey.publicKeyPem),
    )
    expect(actorKeys.documentKey.publicKeyMultibase).toBe(rotated.documentKey.publicKeyMultibase)
    expect(actorKeys.actorCreatedAt).toBe(ownKeys.actorCreatedAt)
    await again.store.close()
  } finally {
    await rm(directory, { recursive: true })
  }
})

describe('renderActorUpdate()', () => {
  const at = '2026-11-21T12:00:00.000Z'

  test('announces the actor in its current form, under an id that depends on the time', async () => {
    const open = await openOne()
    await open.gateway.channel.keys?.rotate?.('echo')
    const { '@context': context, ...served } = await readDocument(open)
    const keys = await createKeyRing({ store: open.gateway.store, origin, now: open.gateway.system.now }).find(echo)
    const agent = open.gateway.agents.find('echo') as AgentProfile
    const change = { agent, keys, gateway: { origin, follows: 'open' as const }, at }
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

test('keys.rotate() announces the new keys to followers with an Update signed by the old key', async () => {
  const { gateway, alice, posts, told } = await openHost()
  await postActivity(gateway, alice, composeActivity(alice, 'Follow', echo))
  // The agent gets the message, too, and answers.
  await vi.waitFor(() => expect(posts()).toHaveLength(2))
  await gateway.channel.keys?.rotate?.('echo')
  await vi.waitFor(() => expect(posts()).toHaveLength(3))
  expect(JSON.parse(posts()[2]?.body ?? '')).toMatchObject({
    type: 'Update',
    actor: echo,
    object: { id: echo, type: 'Service', publicKey: { id: `${echo}#main-key-2` } },
  })
  await postActivity(gateway, alice, composeNote(alice))
  await vi.waitFor(() => expect(posts()).toHaveLength(4))
  expect(told().slice(2)).toEqual([
    ['Update', `${echo}#main-key`],
    ['Create', `${echo}#main-key-2`],
  ])
})

/** Opens a strict server that caches the instance actor, as GoToSocial does, and accepts only the keys of that copy. */
async function openStrictHost(isKnown: (keyId: string) => boolean) {
  const open = await openOne()
  const { alice, peer } = open
  const requestedUrls: string[] = []
  peer.serve(alice.id, ({ headers }) => {
    const signature = `${headers.signature ?? ''} ${headers['signature-input'] ?? ''}`
    const [, keyId = ''] = /key[iI]d="([^"]+)"/.exec(signature) ?? []
    if (keyId) requestedUrls.push(keyId.replace(origin, ''))
    return isKnown(keyId) ? { body: alice.document } : { status: 401 }
  })
  return { ...open, asked: requestedUrls }
}

test('a host that has cached the instance actor accepts our fetches by the known key', async () => {
  const { gateway, alice, asked } = await openStrictHost(keyId => keyId === `${origin}/actor#main-key`)
  await gateway.channel.keys?.rotate?.()
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({ status: 202 })
  expect(asked).toEqual(['/actor#main-key-2', '/actor#main-key-2', '/actor#main-key'])
})

test('a host that fetches the instance actor again accepts our fetches by the newest key', async () => {
  const { gateway, alice, asked } = await openStrictHost(keyId => keyId === `${origin}/actor#main-key-2`)
  await gateway.channel.keys?.rotate?.()
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({ status: 202 })
  expect(asked).toEqual(['/actor#main-key-2'])
})

test('the gateway answers with a temporary refusal if the host refuses the gateway’s own signature', async () => {
  const { gateway, alice } = await openStrictHost(() => false)
  await gateway.channel.keys?.rotate?.()
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({
    status: 503,
    detail: expect.stringContaining("its actor's host refuses our signature"),
  })
})

test('the gateway never signs with a revoked key, even for hosts that know only that key', async () => {
  const { gateway, alice, asked } = await openStrictHost(keyId => keyId === `${origin}/actor#main-key`)
  await gateway.channel.keys?.rotate?.(undefined, { isRevoking: true })
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({ status: 503 })
  expect(new Set(asked)).toEqual(new Set(['/actor#main-key-2']))
})
