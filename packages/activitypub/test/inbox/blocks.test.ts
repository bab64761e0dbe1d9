import { createPublisher } from '@postern/pipeline'
import { afterEach, expect, test, vi } from 'vitest'
import { createBlocklist } from '../../src/domains/blocklist.ts'
import { publicCollection } from '../../src/format/vocabulary.ts'
import { composeActivity } from '../activity.ts'
import type { TestGatewayOptions } from '../gateway.ts'
import { echo as echoAgent, origin } from '../gateway.ts'
import type { PeerAccount } from '../person.ts'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// AP-64: the lists of domains apply on every path.

let stage: Stage | undefined
afterEach(() => stage?.close())

const echo = `${origin}/agents/echo`
const forbiddenAnswer = { status: 403, code: 'forbidden', detail: 'Cannot accept activity: its host is blocked' }

async function openStageWithBlocklist(
  config: NonNullable<TestGatewayOptions['config']>,
  options: TestGatewayOptions = {},
): Promise<Stage> {
  stage = await openStage({ config, ...options })
  return stage
}

test.each([
  ['evil.test', true],
  ['deep.sub.evil.test', true],
  ['evil.test.', true],
  ['evil.test..', true],
  ['notevil.test', false],
  ['evil.test.good.test', false],
  ['xn--gd-eka.test', true],
  ['test', false],
  ['', false],
])('createBlocklist() answers for "%s": %s', (host, expected) => {
  const isBlocked = createBlocklist({ block: ['EVIL.test.', 'ögd.test'], allow: [] })
  expect(isBlocked(host)).toBe(expected)
})

test('createBlocklist() with an allow list blocks all other hosts, in any case', () => {
  const isBlocked = createBlocklist({ block: ['bad.good.test'], allow: ['good.test'] })
  expect(['good.test', 'a.good.test', 'bad.good.test', 'other.test', '93.184.216.34'].map(isBlocked)).toEqual([
    false,
    false,
    true,
    true,
    true,
  ])
})

test('createBlocklist() answers 100,000 times within two CPU seconds for a list of 50,000 hosts', () => {
  const block = Array.from({ length: 50_000 }, (_, index) => `host-${index}.example`)
  const isBlocked = createBlocklist({ block, allow: [] })
  const startUsage = process.threadCpuUsage()
  for (let index = 0; index < 100_000; index += 1) isBlocked('one.of.many.social.example')
  expect(process.threadCpuUsage(startUsage).user).toBeLessThan(2_000_000)
  expect(isBlocked('x.host-49999.example')).toBe(true)
})

test.each([
  ['in lower case', 'evil.test'],
  ['in capitals', 'EVIL.Test'],
  ['with a trailing dot', 'evil.test.'],
  ['with a port', 'evil.test:8443'],
  ['as a sub-domain', 'a.b.evil.test'],
])(
  'an actor of a blocked domain cannot send if its id contains the domain %s, and the domain gets no request',
  async (_, host) => {
    const { gateway, peer, mallory } = await openStageWithBlocklist({ block: ['evil.test'] })
    const id = `https://${host}/users/mallory`
    const activity = composeNote({ ...mallory, id })
    const answer = await postActivity(gateway, { ...mallory, id, keyId: `${id}#main-key` }, activity)
    expect(answer).toMatchObject(forbiddenAnswer)
    expect(peer.requests).toEqual([])
  },
)

test('the block list recognizes an IDN by its A-labels', async () => {
  const { gateway, peer } = await openStageWithBlocklist({ block: ['ögd.test'] })
  const loki = settlePerson(peer, 'loki@xn--gd-eka.test')
  expect(await postActivity(gateway, loki, composeNote(loki))).toMatchObject(forbiddenAnswer)
  expect(peer.requests).toEqual([])
})

test('with an allow list, only its hosts and their sub-domains can send', async () => {
  const { gateway, peer, alice, mallory, listStoredMessages } = await openStageWithBlocklist({
    allow: ['good.test', 'evil.test'],
    block: [],
  })
  const bob = settlePerson(peer, 'bob@other.test')
  const subdomainPerson = settlePerson(peer, 'sub@sub.evil.test')
  for (const person of [alice, mallory, subdomainPerson]) {
    expect(await postActivity(gateway, person, composeNote(person))).toMatchObject({ status: 202 })
  }
  peer.forget()
  expect(await postActivity(gateway, bob, composeNote(bob))).toMatchObject(forbiddenAnswer)
  expect(peer.requests).toEqual([])
  expect(await listStoredMessages()).toHaveLength(3)
})

/** Composes the announcement by which an honest relay forwards the post of another server. */
function announce(alice: PeerAccount, object: unknown) {
  return {
    '@context': 'https://www.w3.org/ns/activitystreams',
    id: `${alice.id}/announces/${Math.random()}`,
    type: 'Announce',
    actor: alice.id,
    to: [publicCollection],
    cc: [echo],
    object,
  }
}

const evilNote = {
  id: 'https://evil.test/notes/1',
  type: 'Note',
  attributedTo: 'https://evil.test/users/mallory',
  content: 'buy',
}

test.each([
  ['by its address', 'https://evil.test/notes/1'],
  ['whole', evilNote],
  ['under an id of the relay', { ...evilNote, id: 'https://good.test/copies/1' }],
  ['in its Create', { type: 'Create', id: 'https://evil.test/notes/1/activity', object: evilNote }],
])('a boost of a post on a blocked domain (%s) causes no effect and no fetch (AP-64)', async (_, object) => {
  const { gateway, peer, alice, listStoredMessages } = await openStageWithBlocklist({ block: ['evil.test'] })
  const activity = announce(alice, object)
  expect(await postActivity(gateway, alice, activity, { path: '/inbox' })).toMatchObject({ status: 202 })
  expect(peer.requests.filter(({ host }) => host === 'evil.test')).toEqual([])
  expect(await listStoredMessages()).toEqual([])
})

test.each(['Create', 'Update'])(
  'a %s has no effect when its post has a blocked actor as a second author (AP-64)',
  async type => {
    const { gateway, peer, alice, mallory, listStoredMessages } = await openStageWithBlocklist({ block: ['evil.test'] })
    const note = { attributedTo: [alice.id, mallory.id] }
    expect(await postActivity(gateway, alice, composeNote(alice, note, { type }))).toMatchObject({ status: 202 })
    expect(peer.countOf(mallory.id)).toBe(0)
    expect(await listStoredMessages()).toEqual([])
  },
)

test.each([
  ['quote', { quote: 'https://evil.test/notes/1' }],
  ['quoteUrl', { quoteUrl: 'https://evil.test/notes/1' }],
  ['link', { tag: [{ type: 'Link', mediaType: 'application/activity+json', href: 'https://evil.test/notes/1' }] }],
  ['plain address', { quoteUrl: 'http://evil.test/notes/1' }],
  ['file', { attachment: [{ type: 'Image', mediaType: 'image/png', url: 'https://cdn.evil.test/1.png' }] }],
])('the gateway omits the %s of a post that leads to a blocked domain (AP-64)', async (_, note) => {
  const { gateway, peer, alice, listStoredMessages } = await openStageWithBlocklist({ block: ['evil.test'] })
  expect(await postActivity(gateway, alice, composeNote(alice, note))).toMatchObject({ status: 202 })
  const [record] = await listStoredMessages()
  expect(record?.message.parts).toEqual([{ kind: 'text', mime: 'text/plain', content: 'Hello' }])
  expect(peer.requests.filter(({ host }) => host.endsWith('evil.test'))).toEqual([])
})

test('a block also covers a handle’s domain on another server, without a request to it (AP-64)', async () => {
  const { gateway, peer, alice, listStoredMessages } = await openStageWithBlocklist({ block: ['other.test'] })
  const links = [{ rel: 'self', type: 'application/activity+json', href: alice.id }]
  const body = { subject: 'acct:alice@other.test', links }
  peer.serve('https://good.test/.well-known/webfinger', { type: 'application/jrd+json', body })
  for (const _ of [1, 2]) expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject(forbiddenAnswer)
  expect(peer.requests.filter(({ host }) => host === 'other.test')).toEqual([])
  expect(await listStoredMessages()).toEqual([])
})

test('the gateway does not follow WebFinger to a blocked domain (AP-64)', async () => {
  const { gateway, peer, alice, listStoredMessages } = await openStageWithBlocklist({ block: ['evil.test'] })
  const location = 'https://evil.test/.well-known/webfinger?resource=acct:alice@good.test'
  peer.serve('https://good.test/.well-known/webfinger', { status: 302, headers: { location } })
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({ status: 202 })
  const [record] = await listStoredMessages()
  expect(record?.message.sender.address).toBe('@~unconfirmed@good.test')
  expect(peer.requests.filter(({ host }) => host === 'evil.test')).toEqual([])
})

test.each([
  ['blocked', { block: ['evil.test'] }],
  ['not allowed', { allow: ['good.test'] }],
])('the gateway does not look up a mentioned person if the domain is %s', async (_, config) => {
  const agent = {
    handle: () => ({
      parts: [{ kind: 'text' as const, mime: 'text/plain' as const, content: 'x' }],
      mentions: ['@mallory@evil.test'],
    }),
  }
  const { gateway, peer, alice } = await openStageWithBlocklist(config, { agents: { echo: agent } })
  peer.serve('https://good.test/inbox', { status: 202 })
  gateway.work()
  await postActivity(gateway, alice, composeNote(alice))
  const states = async () => (await gateway.store.listDeliveries({ limit: 10 })).map(({ to, state }) => [to, state])
  await vi.waitFor(async () =>
    expect(await states()).toEqual(
      expect.arrayContaining([
        ['@mallory@evil.test', 'dead'],
        ['https://good.test/inbox', 'sent'],
      ]),
    ),
  )
  expect(peer.requests.filter(({ host }) => host === 'evil.test')).toEqual([])
})

test('the gateway does not deliver to an inbox on a domain outside the allow list', async () => {
  const { gateway, peer } = await openStageWithBlocklist({ allow: ['good.test'] }, { agents: { echo: echoAgent } })
  const inbox = 'https://other.test/inbox'
  const alice = settlePerson(peer, 'alice@good.test', { document: { inbox, endpoints: undefined } })
  gateway.work()
  await postActivity(gateway, alice, composeNote(alice))
  const first = async () => (await gateway.store.listDeliveries({ limit: 10 }))[0]
  await vi.waitFor(async () => expect(await first()).toMatchObject({ to: inbox, state: 'dead' }))
  expect((await first())?.last_error).toContain('blocked')
  expect(peer.countOf(inbox)).toBe(0)
})

test('a follower gets nothing after a block of their domain, wherever their inbox is', async () => {
  const { gateway, peer, alice } = await openStageWithBlocklist(
    { block: ['other.test'] },
    { agents: { echo: { handle: () => undefined } } },
  )
  const follower = (person: string, inbox: string) => ({
    kind: 'relate' as const,
    relation: 'follower' as const,
    peer: person,
    target: { inbox },
  })
  for (const inbox of ['https://good.test/inboxes/bob', 'https://good.test/inboxes/carol', alice.document.inbox]) {
    peer.serve(String(inbox), { status: 202 })
  }
  gateway.work()
  await postActivity(gateway, alice, composeActivity(alice, 'Follow', echo))
  const [stored] = await gateway.store.listMessages({ limit: 1 })
  const effects = [
    follower('https://other.test/users/bob', 'https://good.test/inboxes/bob'),
    follower('https://good.test/users/carol', 'https://good.test/inboxes/carol'),
  ]
  await gateway.store.decide(stored?.message ?? 0, { effects, deliveries: [] })
  const actingAgent = { agent: 'echo', address: '@echo@agents.test' }
  const { store, system, channel } = gateway
  const acts = {
    actingAgent,
    gateway: { store, system, channels: [channel] },
    signal: new AbortController().signal,
  }
  await createPublisher({ ...acts, log: system.log }).post('Good morning')
  const stateOf = async (inbox: string) =>
    (await store.listDeliveries({ limit: 20 })).find(({ to }) => to === inbox)?.state
  await vi.waitFor(async () => {
    expect(await stateOf('https://good.test/inboxes/carol')).toBe('sent')
    expect(await stateOf('https://good.test/inboxes/bob')).toBe('dead')
  })
  expect(peer.countOf('https://good.test/inboxes/bob')).toBe(0)
})
