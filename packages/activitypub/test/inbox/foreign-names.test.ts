import { afterEach, beforeEach, expect, test } from 'vitest'
import { composeActivity, composeUndo, echoActor } from '../activity.ts'
import { domain, origin } from '../gateway.ts'
import { composeNote, postActivity, settlePerson, signHeaders } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// An id of somebody else, or one on another host, gives a sender no rights.

let stage: Stage

beforeEach(async () => {
  stage = await openStage({ config: { require_signed_fetch: true } })
})
afterEach(() => stage.close())

const follows = (peer: string) =>
  stage.gateway.store.findRelation({ via: 'activitypub', agent: 'echo', relation: 'follower', peer })

test.each([
  ['of somebody else on another host', 'https://good.test/users/alice#follows/1'],
  ['on a host that begins like their own', 'https://evil.test.good.test/follows/1'],
  ['that is not https', 'http://evil.test/users/mallory#follows/1'],
])('a follower who undoes a Follow under an id %s still follows', async (_, id) => {
  const { gateway, mallory } = stage
  await postActivity(gateway, mallory, composeActivity(mallory, 'Follow', echoActor))
  const undo = composeUndo(mallory, { ...composeActivity(mallory, 'Follow', echoActor), id })
  expect(await postActivity(gateway, mallory, undo)).toMatchObject({ status: 202 })
  expect(await follows(mallory.id)).toBeDefined()
  expect(await stage.listStoredMessages()).toHaveLength(1)
})

test('an Undo of another follower’s Follow on the same host ends neither follow', async () => {
  const { gateway, peer, alice } = stage
  const bob = settlePerson(peer, 'bob@good.test')
  const [bobsFollow, alicesFollow] = [
    composeActivity(bob, 'Follow', echoActor),
    composeActivity(alice, 'Follow', echoActor),
  ]
  await postActivity(gateway, bob, bobsFollow)
  await postActivity(gateway, alice, alicesFollow)
  expect(await postActivity(gateway, bob, composeUndo(bob, alicesFollow))).toMatchObject({ status: 202 })
  expect(await follows(bob.id)).toBeDefined()
  expect(await follows(alice.id)).toBeDefined()
})

test('an Undo of a Follow under an unknown own id, or without an id, ends the follow', async () => {
  const { gateway, mallory, alice } = stage
  for (const [person, id] of [
    [mallory, `${mallory.id}#follows/other`],
    [alice, undefined],
  ] as const) {
    await postActivity(gateway, person, composeActivity(person, 'Follow', echoActor))
    const undo = composeUndo(person, { ...composeActivity(person, 'Follow', echoActor), id })
    expect(await postActivity(gateway, person, undo)).toMatchObject({ status: 202 })
    expect(await follows(person.id)).toBeUndefined()
  }
})

const owners = [
  ['publicKey.owner', (owner: string) => ({ publicKey: { owner } })],
  ['owner', (owner: string) => ({ owner })],
  ['controller', (controller: string) => ({ controller })],
  ['id', (id: string) => ({ id })],
] as const

test.each(owners)('a key document that names an owner elsewhere in "%s" causes no fetch', async (_, name) => {
  const { gateway, peer, alice, mallory } = stage
  const keyId = `${mallory.id}/key`
  peer.serve(keyId, { body: { '@context': 'https://w3id.org/security/v1', ...name(alice.id) } })
  const path = '/agents/echo'
  const options = { path, keyId, covered: ['(request-target)', 'host', 'date'], target: `get ${path}`, host: domain }
  const { date = '', signature = '' } = signHeaders(gateway, mallory, '', options)
  const headers = { accept: 'application/activity+json', date, signature }
  const answer = await gateway.app.request(`${origin}${path}`, { headers })
  expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([401, 'signature_invalid'])
  expect(peer.requests.map(({ host }) => host)).toEqual(['evil.test'])
})

test('a key under an id on another host proves nothing, even if the actor lists it', async () => {
  const { gateway, peer } = stage
  const keyId = 'https://other.test/keys/1'
  const key = { id: keyId, owner: 'https://evil.test/users/eve' }
  const eve = settlePerson(peer, 'eve@evil.test')
  peer.serve(eve.id, { body: { ...eve.document, publicKey: { ...key, publicKeyPem: eve.key.publicPem } } })
  const { status, code } = await postActivity(gateway, eve, composeNote(eve), { keyId })
  expect([status, code]).toEqual([401, 'signer_mismatch'])
})
