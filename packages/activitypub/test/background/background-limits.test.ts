import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { composePost, mention, serveChain, servePost, textsOf } from '../conversation.ts'
import type { PeerAnswer } from '../peer.ts'
import type { PeerAccount } from '../person.ts'
import { settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// The numbers in the titles are rows of the ActivityPub bug history.

let stage: Stage
let bob: PeerAccount

beforeEach(async () => {
  stage = await openStage({ config: { block: ['evil.test'] } })
  const { peer, alice } = stage
  for (const host of ['good', 'other']) peer.serve(`https://${host}.test/inbox`, { status: 202 })
  bob = settlePerson(peer, 'bob@other.test', { key: alice.key })
  stage.gateway.work()
})
afterEach(() => stage.close())

test('the gateway fetches only the newest twenty posts of a long thread', async () => {
  const { peer, alice } = stage
  const chain = serveChain(peer, [bob], 30)
  const history = await mention(stage, alice, { inReplyTo: chain[29] })
  expect(history.map(({ nativeId }) => nativeId)).toEqual(chain.slice(10))
  expect(peer.countOf(chain[9] ?? '')).toBe(0)
})

test('the gateway truncates a long post, and reads a bounded number of such posts in a thread', async () => {
  const { peer, alice } = stage
  const chain = serveChain(peer, [bob], 6, { content: `<p>${'long '.repeat(10_000)}</p>` })
  const history = await mention(stage, alice, { inReplyTo: chain[5] })
  expect(history.map(({ nativeId }) => nativeId)).toEqual(chain.slice(3))
  for (const text of textsOf(history)) expect(text).toMatch(/^long [long ]{16379} \[…\]$/)
})

test('the gateway reads a circular thread once', async () => {
  const { peer, alice, gateway } = stage
  const add = vi.spyOn(gateway.store, 'addBackground')
  const [one, two] = [`${bob.id}/1`, `${bob.id}/2`]
  peer.serve(one, { body: composePost(bob, one, { content: 'one', inReplyTo: two }) })
  peer.serve(two, { body: composePost(bob, two, { content: 'two', inReplyTo: one }) })
  expect(textsOf(await mention(stage, alice, { inReplyTo: two }))).toEqual(['one', 'two'])
  const self = `${bob.id}/self`
  peer.serve(self, { body: composePost(bob, self, { content: 'self', inReplyTo: self }) })
  expect(textsOf(await mention(stage, alice, { inReplyTo: self }))).toEqual(['self'])
  expect([one, two, self].map(peer.countOf)).toEqual([1, 1, 1])
  expect(add.mock.calls.map(([, entries]) => entries.length)).toEqual([2, 1])
})

test('the gateway never follows collections, wherever a post links them (AP-63)', async () => {
  const { peer, alice } = stage
  const page = `${bob.id}/replies?page=1`
  const collection = { type: 'Collection', first: { type: 'CollectionPage', next: page, items: [page] } }
  peer.serve(`${bob.id}/replies`, { body: { ...collection, id: page, next: page } })
  const endless = { replies: collection, context: `${bob.id}/replies`, likes: page, shares: page }
  const parent = servePost(peer, bob, endless)
  expect(await mention(stage, alice, { inReplyTo: parent, ...endless })).toHaveLength(1)
  expect(peer.countOf(`${bob.id}/replies`)).toBe(0)
})

test('the gateway does not fetch from blocked hosts in a thread, nor posts beyond them (AP-64)', async () => {
  const { peer, alice, mallory } = stage
  const deeperPost = servePost(peer, bob)
  const blocked = servePost(peer, mallory, { inReplyTo: deeperPost })
  const parent = servePost(peer, bob, { inReplyTo: blocked, content: 'parent' })
  peer.forget()
  expect(textsOf(await mention(stage, alice, { inReplyTo: parent, quote: blocked }))).toEqual(['parent'])
  expect(peer.requests.filter(({ host }) => host.endsWith('evil.test'))).toEqual([])
  expect(peer.countOf(deeperPost)).toBe(0)
})

test('the gateway drops links and files of blocked hosts from parent posts (AP-64)', async () => {
  const { peer, alice } = stage
  const attachment = ['https://evil.test/a.png', 'https://good.test/b.png'].map(url => ({
    type: 'Document',
    mediaType: 'image/png',
    url,
  }))
  const parent = servePost(peer, bob, { attachment, quoteUrl: 'https://sub.evil.test/1' })
  const [entry] = await mention(stage, alice, { inReplyTo: parent })
  expect(entry?.parts.slice(1)).toEqual([
    { kind: 'file', mime: 'image/png', bytes_ref: { kind: 'url', url: 'https://good.test/b.png' } },
  ])
  expect(peer.countOf('https://good.test/b.png')).toBe(0)
})

test('the gateway keeps a bounded number of attachments', async () => {
  const { peer, alice } = stage
  const toImage = (url: string) => ({ type: 'Document', mediaType: 'image/png', url })
  const many = Array.from({ length: 30 }, (_, at) => toImage(`https://other.test/${at}`))
  const attachment = [toImage(`https://other.test/${'x'.repeat(100_000)}`), ...many]
  const [entry] = await mention(stage, alice, { inReplyTo: servePost(peer, bob, { attachment }) })
  expect(entry?.parts).toHaveLength(17)
  expect(JSON.stringify(entry).length).toBeLessThan(4_000)
})

test('the gateway drops invisible text from a parent', async () => {
  const { peer, alice } = stage
  const content = '<p>seen<span style="display:none">obey</span><script>obey()</script></p>'
  const parent = servePost(peer, bob, { content, summary: 'heights', type: 'Note' })
  expect(textsOf(await mention(stage, alice, { inReplyTo: parent }))).toEqual(['Content warning: heights\n\nseen'])
})

const answers: readonly (readonly [string, (id: string) => PeerAnswer])[] = [
  ['answers 404', () => ({ status: 404 })],
  ['answers 410', () => ({ status: 410, body: { type: 'Tombstone' } })],
  ['answers 401', () => ({ status: 401 })],
  ['has become a tombstone', id => ({ body: { id, type: 'Tombstone' } })],
  ['is a web page', id => ({ type: 'text/html', body: composePost(bob, id) })],
  ['is an uploaded file', id => ({ type: 'application/json', body: composePost(bob, id) })],
  ['has another id', id => ({ body: composePost(bob, id, { id: 'https://good.test/1' }) })],
  ['has no id', id => ({ body: composePost(bob, id, { id: undefined }) })],
  [
    'is attributed to another host',
    id => ({ body: composePost(bob, id, { attributedTo: 'https://good.test/users/alice' }) }),
  ],
  ['is attributed to nobody', id => ({ body: composePost(bob, id, { attributedTo: [] }) })],
  ['is no post', id => ({ body: composePost(bob, id, { type: 'Person' }) })],
  ['is a Create activity', id => ({ body: composePost(bob, id, { type: 'Create' }) })],
  ['is addressed to nobody', id => ({ body: composePost(bob, id, { to: [], cc: [] }) })],
  [
    'redefines ActivityStreams terms',
    id => ({ body: composePost(bob, id, { '@context': { content: 'as:summary' } }) }),
  ],
  ['leads to another host', () => ({ status: 302, headers: { location: 'https://good.test/1' } })],
  ['is by a deleted author', id => ({ body: composePost(bob, id, { attributedTo: 'https://other.test/users/gone' }) })],
  ['is nested too deeply', () => ({ body: `{"a":${'['.repeat(2_000)}${']'.repeat(2_000)}}` })],
]

test.each(answers)('the gateway omits a parent that %s, and does not fetch it again', async (_, answer) => {
  const { peer, alice } = stage
  const parent = 'https://other.test/posts/odd'
  peer.serve(parent, answer(parent))
  const good = composePost(stage.alice, 'https://good.test/1', { content: 'not to be read' })
  peer.serve('https://good.test/1', { body: good })
  for (const thread of ['a', 'b']) {
    expect(await mention(stage, alice, { inReplyTo: parent, context: `https://good.test/${thread}` })).toEqual([])
  }
  // A rejected signature is retried in the other scheme, too.
  expect(peer.countOf(parent)).toBe(answer(parent).status === 401 ? 2 : 1)
  expect(peer.countOf('https://good.test/1')).toBe(0)
})

test.each([
  'http://other.test/posts/1',
  'https://user@other.test/posts/1',
  'https://127.0.0.1/posts/1',
  'https://[::ffff:10.0.0.1]/posts/1',
  'tag:other.test,2026:1',
])('the gateway does not fetch a parent with the URL %s (AP-32)', async parent => {
  const { peer, alice } = stage
  peer.forget()
  expect(await mention(stage, alice, { inReplyTo: parent, quoteUrl: parent })).toEqual([])
  expect(peer.requests.filter(({ path }) => path === '/posts/1')).toEqual([])
})

test('the URL of a page leads to the post if the post names the same URL', async () => {
  const { peer, alice } = stage
  const parent = servePost(peer, bob)
  const page = 'https://other.test/@bob/1'
  peer.serve(page, { body: composePost(bob, parent, { content: 'not the post itself' }) })
  const history = await mention(stage, alice, { inReplyTo: page })
  expect(history.map(({ nativeId }) => nativeId)).toEqual([parent])
  expect(textsOf(history)).toEqual(['words of bob'])
  const other = 'https://other.test/@bob/2'
  peer.serve(other, { body: composePost(bob, page) })
  expect(await mention(stage, stage.alice, { inReplyTo: other })).toEqual([])
})

test.each([
  ['2999-01-01T00:00:00Z', 'now'],
  ['-000001-01-01T00:00:00Z', 'now'],
  ['yesterday', 'now'],
  [undefined, 'now'],
  ['2020-02-03T04:05:06+01:00', '2020-02-03T03:05:06.000Z'],
])('a parent with the time %s has the date %s', async (published, at) => {
  const { peer, alice, gateway } = stage
  const start = gateway.system.now()
  const [entry] = await mention(stage, alice, { inReplyTo: servePost(peer, bob, { published }) })
  if (at === 'now') expect(Date.parse(entry?.at ?? '')).toBeGreaterThanOrEqual(start)
  else expect(entry?.at).toBe(at)
})

test('a hanging host delays one answer by its time limit, and not the next answer (AP-37)', async () => {
  const { peer, alice, gateway } = stage
  const { sleep } = gateway.system
  const slept: number[] = []
  const hanging = servePost(peer, bob)
  peer.serve(hanging, 'hang')
  // The limit of five seconds passes soon after the host begins to hang.
  vi.spyOn(gateway.system, 'sleep').mockImplementation(async (ms, signal) => {
    slept.push(ms)
    if (ms !== 5_000) return sleep(ms, signal)
    while (peer.countOf(hanging) === 0 && !signal?.aborted) await sleep(10, signal)
    return sleep(300, signal)
  })
  const chain = servePost(peer, alice, { inReplyTo: hanging, content: 'reached' })
  expect(textsOf(await mention(stage, alice, { inReplyTo: chain }))).toEqual(['reached'])
  expect(slept).toContain(5_000)
  await vi.waitFor(async () => expect((await stage.listStoredMessages())[0]?.state).toBe('answered'))
  gateway.system.advance(3_000)
  const secondPost = servePost(peer, bob)
  expect(await mention(stage, bob, { inReplyTo: secondPost, context: 'https://other.test/another' })).toEqual([])
  expect(slept.filter(ms => ms === 5_000)).toHaveLength(2)
  expect([hanging, secondPost].map(peer.countOf)).toEqual([1, 0])
})
