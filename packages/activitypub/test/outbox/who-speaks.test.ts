import { afterEach, beforeEach, expect, test } from 'vitest'
import { publicCollection } from '../../src/format/vocabulary.ts'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// The numbers in the titles are rows of the ActivityPub bug history: what attackers sent to other servers, and what we answer.

let stage: Stage

beforeEach(async () => {
  stage = await openStage()
})
afterEach(() => stage.close())

async function expectNothingStored(): Promise<void> {
  expect(await stage.listStoredMessages()).toEqual([])
}

test('the store keeps an honest note once, with its proof', async () => {
  const { gateway, alice } = stage
  const note = composeNote(alice)
  expect(await postActivity(gateway, alice, note)).toMatchObject({ status: 202 })
  const [record] = await stage.listStoredMessages()
  expect(record?.message).toMatchObject({ id: note.id, sender: { address: '@alice@good.test', verified: true } })
  expect(record?.proofs).toMatchObject([
    { kind: 'http-signature', verdict: 'pass', key_id: alice.keyId },
    { kind: 'digest', verdict: 'pass' },
    { kind: 'webfinger', verdict: 'pass', address: '@alice@good.test' },
  ])
})

test('a key document on another host that names the victim as owner proves nothing (AP-01)', async () => {
  const { gateway, peer, alice, mallory } = stage
  const keyId = 'https://evil.test/keys/1'
  const keyDocument = { id: keyId, owner: alice.id, publicKeyPem: mallory.key.publicPem }
  peer.serve(keyId, { body: { '@context': 'https://w3id.org/security/v1', ...keyDocument } })
  const answer = await postActivity(gateway, mallory, composeNote(alice), { keyId })
  expect(answer).toMatchObject({ status: 401, code: 'signer_mismatch' })
  expect(answer.detail).toBe("Cannot verify activity: its signer's key is on another host than its actor")
  await expectNothingStored()
})

test('a key outside the actor’s document proves nothing for it, even from its own host (AP-01)', async () => {
  const { gateway, peer, alice, mallory } = stage
  const keyId = 'https://good.test/uploads/key.json'
  peer.serve(keyId, { body: { id: keyId, owner: alice.id, publicKeyPem: mallory.key.publicPem } })
  const answer = await postActivity(gateway, mallory, composeNote(alice), { keyId })
  expect(answer).toMatchObject({ status: 401, code: 'signer_mismatch' })
  expect(answer.detail).toBe("Cannot verify activity: its actor does not list the signer's key")
  expect(peer.countOf(keyId)).toBe(0)
  await expectNothingStored()
})

test('the gateway refuses a valid signature of another actor before it fetches anything (AP-02)', async () => {
  const { gateway, peer, alice, mallory } = stage
  const answer = await postActivity(gateway, alice, composeNote(alice), { signer: mallory })
  expect(answer).toMatchObject({ status: 401, code: 'signer_mismatch' })
  expect(peer.requests).toEqual([])
  await expectNothingStored()
})

test('another actor on the same host cannot sign for the actor (AP-02)', async () => {
  const { gateway, peer, alice } = stage
  const bob = settlePerson(peer, 'bob@good.test')
  const answer = await postActivity(gateway, alice, composeNote(alice), { signer: bob })
  expect(answer).toMatchObject({ status: 401, code: 'signer_mismatch' })
  await expectNothingStored()
})

test('a key entry with another id than the signature’s does not count (AP-03)', async () => {
  const { gateway, peer } = stage
  const carol = settlePerson(peer, 'carol@good.test', { document: {} })
  const publicKey = { ...(carol.document.publicKey as object), id: `${carol.id}#other` }
  peer.serve(carol.id, { body: { ...carol.document, publicKey } })
  const answer = await postActivity(gateway, carol, composeNote(carol))
  expect(answer).toMatchObject({ status: 401, code: 'signer_mismatch' })
  await expectNothingStored()
})

test('the gateway refuses a key id that is an account name (AP-04)', async () => {
  const { gateway, alice } = stage
  const answer = await postActivity(gateway, alice, composeNote(alice), { keyId: 'acct:alice@good.test' })
  expect(answer).toMatchObject({ status: 401, code: 'signer_mismatch' })
  await expectNothingStored()
})

test('a document with an id on another host is not an actor, and the gateway stores nothing for the victim (AP-05)', async () => {
  const { gateway, peer, alice, mallory } = stage
  const id = 'https://evil.test/users/fake'
  peer.serve(id, {
    body: {
      ...alice.document,
      publicKey: { id: `${id}#main-key`, owner: alice.id, publicKeyPem: mallory.key.publicPem },
    },
  })
  const fake = { ...mallory, id, keyId: `${id}#main-key` }
  const answer = await postActivity(gateway, fake, composeNote(fake))
  expect(answer).toMatchObject({ status: 401, code: 'signature_invalid' })
  expect(answer.detail).toBe("Cannot verify activity: its actor's document cannot be had")
  await expectNothingStored()
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({ status: 202 })
})

test.each([
  'text/html',
  'text/plain',
  'application/json',
  'application/ld+json',
  'application/ld+json; profile="https://example.com/other"',
])('a document of type %s may be an uploaded file, and is not an actor (AP-06)', async type => {
  const { gateway, peer, alice } = stage
  peer.serve(alice.id, { type, body: alice.document })
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({
    status: 401,
    code: 'signature_invalid',
  })
  await expectNothingStored()
})

test.each([
  'application/activity+json',
  'application/activity+json; charset=utf-8',
  'application/ld+json; profile="https://www.w3.org/ns/activitystreams"',
  'application/ld+json; charset=utf-8; profile="https://www.w3.org/ns/activitystreams"',
])('an actor document of type %s counts (AP-06)', async type => {
  const { gateway, peer, alice } = stage
  peer.serve(alice.id, { type, body: alice.document })
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({ status: 202 })
})

test.each([
  ['two actors', ['https://good.test/users/alice', 'https://evil.test/users/mallory']],
  ['an embedded actor with another id', { id: 'https://good.test/users/bob', type: 'Person' }],
  ['an embedded actor without an id', { type: 'Person' }],
  ['no actor', undefined],
  ['a number', 7],
])('the gateway refuses an activity with %s as malformed (AP-07)', async (_, actor) => {
  const { gateway, alice } = stage
  const answer = await postActivity(gateway, alice, composeNote(alice, {}, { actor }))
  expect(answer).toMatchObject({ status: 400, code: 'malformed' })
  expect(answer.detail).toMatch(/^Cannot read activity: (it does not have exactly one actor|its actor is embedded)/)
  await expectNothingStored()
})

test('the gateway accepts an embedded actor with the signer’s id (AP-07)', async () => {
  const { gateway, alice } = stage
  const actor = { id: alice.id, type: 'Person', name: 'Somebody famous' }
  expect(await postActivity(gateway, alice, composeNote(alice, {}, { actor }))).toMatchObject({ status: 202 })
  const [record] = await stage.listStoredMessages()
  expect(record?.message.sender.display_name).toBe('The alice')
})

test('the gateway refuses an activity whose id is on another host (AP-08)', async () => {
  const { gateway, alice } = stage
  const answer = await postActivity(gateway, alice, composeNote(alice, {}, { id: 'https://evil.test/1' }))
  expect(answer).toMatchObject({ status: 401, code: 'signer_mismatch' })
  expect(answer.detail).toBe('Cannot verify activity: its id is on another host than its actor')
})

test.each([
  ['is on another host', { id: 'https://evil.test/notes/1' }],
  ['is attributed to another host', { attributedTo: 'https://evil.test/users/mallory' }],
  ['is attributed to a neighbour', { attributedTo: 'https://good.test/users/bob' }],
])('the gateway refuses a created object that %s (AP-09)', async (_, note) => {
  const { gateway, alice } = stage
  const answer = await postActivity(gateway, alice, composeNote(alice, note))
  expect(answer).toMatchObject({ status: 401, code: 'signer_mismatch' })
  await expectNothingStored()
})

test.each([
  ['user-info that looks like a host', 'https://good.test@evil.test/1', 400],
  ['another scheme', 'http://good.test/1', 400],
  ['a trailing dot', 'https://good.test./1', 401],
  ['another port', 'https://good.test:8443/1', 401],
  ['an IDN homograph', 'https://gооd.test/1', 401],
  ['the host as a prefix', 'https://good.test.evil.test/1', 401],
  ['a percent-encoded dot in the host', 'https://good%2etest.evil.test/1', 401],
])('an id with %s is a different URL (AP-10)', async (_, id, status) => {
  const { gateway, alice } = stage
  expect(await postActivity(gateway, alice, composeNote(alice, {}, { id }))).toMatchObject({ status })
  await expectNothingStored()
})

test.each(['HTTPS://GOOD.TEST/ids/1', 'https://good.test:443/ids/2', 'https://good%2etest/ids/3'])(
  '%s is the same URL in another spelling (AP-10)',
  async id => {
    const { gateway, alice } = stage
    expect(await postActivity(gateway, alice, composeNote(alice, {}, { id }))).toMatchObject({ status: 202 })
  },
)

test.each([
  ['bidi controls', { preferredUsername: 'alice\u202egro.knab' }],
  ['control characters', { preferredUsername: 'al\u0000ice' }],
  ['a look-alike', { preferredUsername: 'аlice' }],
  ['somebody else’s name', { preferredUsername: 'admin' }],
])('the gateway withholds a name with %s, and the evidence still has the actor (AP-11)', async (_, document) => {
  const { gateway, peer } = stage
  const alice = settlePerson(peer, 'alice@good.test', { document })
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({ status: 202 })
  const [record] = await stage.listStoredMessages()
  expect(record?.message.sender.address).toBe('@~unconfirmed@good.test')
  expect(record?.message.sender.identities).toMatchObject([{ subject: alice.id, issuer: 'good.test' }])
  expect(record?.proofs).toContainEqual(expect.objectContaining({ kind: 'webfinger', verdict: 'none' }))
})

test('a WebFinger answer for another user confirms no name (AP-11)', async () => {
  const { gateway, peer, alice } = stage
  const links = [{ rel: 'self', type: 'application/activity+json', href: 'https://good.test/users/bob' }]
  const jrd = { subject: 'acct:alice@good.test', links }
  peer.serve('https://good.test/.well-known/webfinger', { type: 'application/jrd+json', body: jrd })
  await postActivity(gateway, alice, composeNote(alice))
  const [record] = await stage.listStoredMessages()
  expect(record?.message.sender.address).toBe('@~unconfirmed@good.test')
})

test('a name on another domain counts when that domain confirms it (AP-11)', async () => {
  const { gateway, peer, alice } = stage
  const links = [{ rel: 'self', type: 'application/activity+json', href: alice.id }]
  const jrd = { type: 'application/jrd+json', body: { subject: 'acct:alice@other.test', links } }
  peer.serve('https://good.test/.well-known/webfinger', jrd)
  await postActivity(gateway, alice, composeNote(alice))
  expect((await stage.listStoredMessages())[0]?.message.sender.address).toBe('@~unconfirmed@good.test')
  peer.serve('https://other.test/.well-known/webfinger', jrd)
  gateway.system.advance(6 * 60_000)
  await postActivity(gateway, alice, composeNote(alice))
  expect((await stage.listStoredMessages())[0]?.message.sender.address).toBe('@alice@other.test')
})

test('the gateway confirms a name once a day, and not at every post (AP-11)', async () => {
  const { gateway, peer, alice } = stage
  await postActivity(gateway, alice, composeNote(alice))
  await postActivity(gateway, alice, composeNote(alice))
  expect(peer.countOf('https://good.test/.well-known/webfinger')).toBe(1)
})

test('the gateway refuses an activity without an id as malformed (AP-12)', async () => {
  const { gateway, alice } = stage
  const answer = await postActivity(gateway, alice, composeNote(alice, {}, { id: undefined }))
  expect(answer).toMatchObject({ status: 400, code: 'malformed', detail: 'Cannot read activity: it has no id' })
})

test('a post to two agents makes two messages', async () => {
  const { gateway, alice } = stage
  const agents = ['echo', 'help'].map(name => `https://agents.test/agents/${name}`)
  await postActivity(gateway, alice, composeNote(alice, { cc: agents, to: [publicCollection] }), { path: '/inbox' })
  expect((await stage.listStoredMessages()).map(({ message }) => message.recipient).length).toBeGreaterThan(0)
  const list = await gateway.store.listMessages({ limit: 10 })
  expect(list.map(({ agent }) => agent).sort()).toEqual(['echo', 'help'])
})

test('the gateway accepts a post for no local agent without effect', async () => {
  const { gateway, alice } = stage
  const audience = { to: [publicCollection], cc: [], tag: [] }
  const note = composeNote(alice, audience, { to: [publicCollection], cc: [] })
  expect(await postActivity(gateway, alice, note, { path: '/inbox' })).toMatchObject({ status: 202 })
  await expectNothingStored()
})
