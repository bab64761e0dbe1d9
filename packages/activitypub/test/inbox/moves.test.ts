import { afterEach, expect, test } from 'vitest'
import { composeActivity, composeUndo, echoActor } from '../activity.ts'
import type { PeerAccount } from '../person.ts'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

let stage: Stage

afterEach(() => stage.close())

function move(from: PeerAccount, to: string): Promise<{ readonly status: number }> {
  const activity = { ...composeActivity(from, 'Move', from.id), target: to }
  return postActivity(stage.gateway, from, activity)
}

function findBlock(peer: string) {
  return stage.gateway.store.findRelation({ via: 'activitypub', agent: 'echo', relation: 'blocked_by', peer })
}

test('a block by the old account also applies to the new account after a Move', async () => {
  stage = await openStage()
  const { alice, gateway, peer } = stage
  const newAccount = settlePerson(peer, 'alice@other.test', { document: { alsoKnownAs: [alice.id] } })
  await postActivity(gateway, alice, composeActivity(alice, 'Block', echoActor))
  expect(await move(alice, newAccount.id)).toMatchObject({ status: 202 })
  expect(await findBlock(newAccount.id)).toBeDefined()
  const [record] = await stage.listStoredMessages()
  expect(record).toMatchObject({ flags: ['moved'], state: 'ignored' })
  gateway.work()
  await postActivity(gateway, newAccount, composeNote(newAccount))
  expect((await stage.listStoredMessages())[0]).toMatchObject({
    flags: ['blocked_by'],
    message: { sender: { address: '@alice@other.test' } },
  })
})

test('the gateway fetches the new account again if its cached copy does not name the old account', async () => {
  stage = await openStage()
  const { alice, gateway, peer } = stage
  const newAccount = settlePerson(peer, 'alice@other.test')
  await postActivity(gateway, newAccount, composeNote(newAccount))
  await postActivity(gateway, alice, composeActivity(alice, 'Block', echoActor))
  settlePerson(peer, 'alice@other.test', { document: { alsoKnownAs: alice.id } })
  gateway.system.advance(3_600_000)
  await move(alice, newAccount.id)
  expect(await findBlock(newAccount.id)).toBeDefined()
})

test.each([
  ['to an account that does not call the old one its own', {}],
  ['to an account that calls another one its own', { alsoKnownAs: ['https://evil.test/users/mallory'] }],
])('a Move %s changes nothing (AP-57)', async (_, document) => {
  stage = await openStage()
  const { alice, gateway, peer } = stage
  const targetAccount = settlePerson(peer, 'victim@other.test', { document })
  await postActivity(gateway, alice, composeActivity(alice, 'Block', echoActor))
  expect(await move(alice, targetAccount.id)).toMatchObject({ status: 202 })
  expect(await findBlock(targetAccount.id)).toBeUndefined()
})

test('a Move by another actor changes nothing and fetches nothing', async () => {
  stage = await openStage()
  const { alice, mallory, gateway, peer } = stage
  const target = settlePerson(peer, 'new@other.test', { document: { alsoKnownAs: [alice.id, mallory.id] } })
  await postActivity(gateway, alice, composeActivity(alice, 'Block', echoActor))
  const activity = { ...composeActivity(mallory, 'Move', alice.id), target: target.id }
  expect(await postActivity(gateway, mallory, activity)).toMatchObject({ status: 202 })
  expect(await findBlock(target.id)).toBeUndefined()
  expect(peer.countOf(target.id)).toBe(0)
})

test('a Move of an actor without a relation to an agent has no effect', async () => {
  stage = await openStage()
  const { alice, peer } = stage
  const newAccount = settlePerson(peer, 'alice@other.test', { document: { alsoKnownAs: [alice.id] } })
  expect(await move(alice, newAccount.id)).toMatchObject({ status: 202 })
  expect(peer.countOf(newAccount.id)).toBe(0)
  expect(await stage.listStoredMessages()).toEqual([])
})

test('a Move to a blocked host has no effect and causes no fetch (AP-64)', async () => {
  stage = await openStage({ config: { block: ['other.test'] } })
  const { alice, gateway, peer } = stage
  const newAccount = settlePerson(peer, 'alice@other.test', { document: { alsoKnownAs: [alice.id] } })
  await postActivity(gateway, alice, composeActivity(alice, 'Block', echoActor))
  expect(await move(alice, newAccount.id)).toMatchObject({ status: 202 })
  for (const url of ['https://OTHER.test./users/alice', 'https://sub.other.test:443/users/alice']) {
    expect(await move(alice, url)).toMatchObject({ status: 202 })
  }
  expect(await findBlock(newAccount.id)).toBeUndefined()
  expect(peer.requests.filter(({ host }) => host.includes('other'))).toEqual([])
})

test('accounts that move to each other, or to themselves, do not cause a loop', async () => {
  stage = await openStage()
  const { alice, mallory, gateway, peer } = stage
  settlePerson(peer, 'alice@good.test', { document: { alsoKnownAs: [mallory.id, alice.id] } })
  settlePerson(peer, 'mallory@evil.test', { document: { alsoKnownAs: [alice.id, mallory.id] } })
  for (const person of [alice, mallory])
    await postActivity(gateway, person, composeActivity(person, 'Block', echoActor))
  for (const [from, to] of [
    [alice, mallory],
    [mallory, alice],
    [alice, alice],
  ] as const) {
    expect(await move(from, to.id)).toMatchObject({ status: 202 })
  }
  expect(peer.requests.length).toBeLessThan(8)
})

test('a Move of an actor that blocks one agent and follows another keeps only the block', async () => {
  const handle = () => undefined
  stage = await openStage({ agents: { echo: { handle }, help: { handle } } })
  const { alice, gateway, peer } = stage
  const newAccount = settlePerson(peer, 'alice@other.test', { document: { alsoKnownAs: [alice.id] } })
  const help = echoActor.replace('echo', 'help')
  await postActivity(gateway, alice, composeActivity(alice, 'Block', echoActor))
  await postActivity(gateway, alice, composeActivity(alice, 'Follow', help))
  await move(alice, newAccount.id)
  const key = { via: 'activitypub', relation: 'blocked_by', peer: newAccount.id } as const
  expect(await gateway.store.findRelation({ ...key, agent: 'echo' })).toBeDefined()
  expect(await gateway.store.findRelation({ ...key, agent: 'help' })).toBeUndefined()
})

test('an actor that has blocked an agent can follow it again only after an Undo of the block', async () => {
  stage = await openStage()
  const { alice, gateway } = stage
  const follower = { via: 'activitypub', agent: 'echo', relation: 'follower', peer: alice.id } as const
  const block = composeActivity(alice, 'Block', echoActor)
  await postActivity(gateway, alice, block)
  expect(await postActivity(gateway, alice, composeActivity(alice, 'Follow', echoActor))).toMatchObject({ status: 202 })
  expect(await gateway.store.findRelation(follower)).toBeUndefined()
  await postActivity(gateway, alice, composeUndo(alice, block))
  await postActivity(gateway, alice, composeActivity(alice, 'Follow', echoActor))
  expect(await gateway.store.findRelation(follower)).toBeDefined()
})

test('followers in the audience of a post do not count among its mentioned people', async () => {
  stage = await openStage({ config: { max_mentions: 2 } })
  const { alice, gateway } = stage
  const followers = `${alice.id}/followers`
  const to = [echoActor, 'https://other.test/users/a']
  await postActivity(gateway, alice, composeNote(alice, { to, cc: [followers] }, { to, cc: [followers] }))
  expect((await stage.listStoredMessages())[0]?.flags).toEqual([])
  await postActivity(gateway, alice, composeNote(alice, { to, cc: ['https://other.test/b'] }, { to, cc: [] }))
  expect((await stage.listStoredMessages())[0]?.flags).toEqual(['mass_mention'])
})
