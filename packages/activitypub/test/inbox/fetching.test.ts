import { afterEach, beforeEach, expect, test } from 'vitest'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// The numbers in the titles are rows of the ActivityPub bug history.

let stage: Stage

beforeEach(async () => {
  stage = await openStage()
})
afterEach(() => stage.close())

const isRefused = { status: 401, code: 'signature_invalid' }

test.each([
  '127.0.0.1',
  '0.0.0.0',
  '169.254.169.254',
  '10.0.0.1',
  '100.64.0.1',
  '198.18.0.1',
  '192.0.2.1',
  '224.0.0.1',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  '[2001:0:7f00:1::]',
  '[fc00::1]',
  '2130706433',
  '0177.0.0.1',
  '0x7f.1',
  'localhost',
  'localhost.',
])('the gateway refuses an actor on %s without a connection (AP-32)', async host => {
  const { gateway, peer, alice } = stage
  const id = `https://${host}/users/alice`
  const author = { ...alice, id, keyId: `${id}#main-key` }
  expect(await postActivity(gateway, author, composeNote(author))).toMatchObject(isRefused)
  expect(peer.requests).toEqual([])
})

test('the gateway does not follow a redirect to another origin (AP-34)', async () => {
  const { gateway, peer, alice } = stage
  peer.serve(alice.id, { status: 302, headers: { location: 'https://other.test/users/alice' } })
  peer.serve('https://other.test/users/alice', { body: alice.document })
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject(isRefused)
  expect(peer.countOf('https://other.test/users/alice')).toBe(0)
})

test('the gateway follows a redirect within the origin with a new signature (AP-34)', async () => {
  const { gateway, peer, alice } = stage
  peer.serve(alice.id, { status: 302, headers: { location: '/moved/alice' } })
  peer.serve('https://good.test/moved/alice', { body: alice.document })
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({ status: 202 })
  const signedRequests = peer.requests.filter(({ path, headers }) => path.endsWith('alice') && 'signature' in headers)
  const [first, second] = signedRequests
  expect(signedRequests.map(({ path }) => path)).toEqual(['/users/alice', '/moved/alice'])
  expect(second?.headers.signature).toBeTruthy()
  expect(second?.headers.signature).not.toBe(first?.headers.signature)
})

test.each([
  ['in circles', (id: string) => id],
  ['to data:', () => 'data:application/activity+json,{}'],
  ['to file:', () => 'file:///etc/passwd'],
  ['to http:', () => 'http://good.test/users/alice'],
])('the gateway refuses a redirect %s, and retries only after a while (AP-36)', async (_, locate) => {
  const { gateway, peer, alice } = stage
  peer.serve(alice.id, { status: 302, headers: { location: locate(alice.id) } })
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject(isRefused)
  expect(peer.countOf(alice.id)).toBeLessThanOrEqual(4)
  peer.forget()
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject(isRefused)
  expect(peer.requests).toEqual([])
})

test('the gateway answers 503 with Retry-After for a host that never answers, and then pauses requests (AP-37)', async () => {
  const slow = await openStage({ watchFetch: fetch => (url, init) => fetch(url, { ...init, timeoutMs: 100 }) })
  try {
    const { gateway, peer, alice } = slow
    peer.serve(alice.id, 'hang')
    const answer = await postActivity(gateway, alice, composeNote(alice))
    expect(answer).toMatchObject({ status: 503, code: 'unavailable' })
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    peer.forget()
    expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({ status: 503 })
    expect(peer.requests).toEqual([])
  } finally {
    await slow.close()
  }
})

test.each([500, 502, 503, 429])('the gateway retries a host that answers %s later (AP-37)', async status => {
  const { gateway, peer, alice } = stage
  peer.serve(alice.id, { status, headers: { 'retry-after': '120' } })
  const answer = await postActivity(gateway, alice, composeNote(alice))
  expect(answer).toMatchObject({ status: 503 })
  expect(answer.headers.get('retry-after')).toBe('120')
  peer.serve(alice.id, { body: alice.document })
  gateway.system.advance(60_000)
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({ status: 202 })
})

test('the gateway does not read a document of more than 1 MiB (AP-38)', async () => {
  const { gateway, peer, alice } = stage
  peer.serve(alice.id, { body: { ...alice.document, padding: 'x'.repeat(1_100_000) } })
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject(isRefused)
})

test('the gateway does not read a compressed document (AP-38)', async () => {
  const { gateway, peer, alice } = stage
  peer.serve(alice.id, { headers: { 'content-encoding': 'gzip' }, body: 'not even gzip' })
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject(isRefused)
})

test.each([
  ['no JSON', '<html>'],
  ['deep', `${'['.repeat(100)}${']'.repeat(100)}`],
  ['a list', '[]'],
  ['null', 'null'],
])('the gateway accepts no document that is %s as an actor', async (_, body) => {
  const { gateway, peer, alice } = stage
  peer.serve(alice.id, { body })
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject(isRefused)
})

test('the gateway does not use a shared inbox on a third party’s host (AP-41)', async () => {
  const { gateway, peer } = stage
  const endpoints = { sharedInbox: 'https://other.test/inbox' }
  const alice = settlePerson(peer, 'alice@good.test', { document: { endpoints } })
  peer.serve(`${alice.id}/inbox`, { status: 202 })
  gateway.work()
  await postActivity(gateway, alice, composeNote(alice))
  await expect.poll(() => peer.countOf(`${alice.id}/inbox`)).toBe(1)
  expect(peer.countOf('https://other.test/inbox')).toBe(0)
})

test('strangers cannot cause unlimited fetches (AP-43)', async () => {
  const { gateway, peer, alice } = stage
  const now = Date.now()
  Object.assign(gateway.system, { now: () => now })
  const answers = new Set<number>()
  for (let at = 0; at < 320; at += 1) {
    const id = `https://good.test/users/nobody-${at}`
    const nobody = { ...alice, id, keyId: `${id}#main-key` }
    answers.add((await postActivity(gateway, nobody, composeNote(nobody))).status)
  }
  expect([...answers].sort()).toEqual([401, 429])
  const signed = peer.requests.filter(({ headers }) => 'signature' in headers)
  expect(peer.requests.length - signed.length).toBe(300)
  expect(signed.length).toBe(3)
})

test('the gateway refuses an unknown key without reading the body when it cannot fetch', async () => {
  const { gateway, alice } = stage
  gateway.system.holdClock()
  // The body does not fit its digest, so a request whose body is read gets 401.
  const postChanged = () => postActivity(gateway, alice, composeNote(alice), { sentBody: '{"changed":1}' })
  expect(await postChanged()).toMatchObject({ status: 401 })
  for (let at = 0; at < 300; at += 1) {
    const id = `https://other.test/users/nobody-${at}`
    const nobody = { ...alice, id, keyId: `${id}#main-key` }
    await postActivity(gateway, nobody, composeNote(nobody))
  }
  expect(await postChanged()).toMatchObject({ status: 429, code: 'rate_limited' })
  gateway.system.advance(1_000)
  expect(await postChanged()).toMatchObject({ status: 401 })
})

test('a forged signature does not lock out the honest actor while the host is down', async () => {
  const { gateway, peer, alice, mallory } = stage
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({ status: 202 })
  peer.serve(alice.id, { status: 503 })
  const forged = await postActivity(gateway, alice, composeNote(alice), { key: mallory.key })
  expect(forged).toMatchObject({ status: 503 })
  expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({ status: 202 })
})

test('a broken, private, oversized or non-https WebFinger answer confirms no name (AP-44)', async () => {
  const { gateway, peer, alice } = stage
  const url = 'https://good.test/.well-known/webfinger'
  const type = 'application/jrd+json'
  const self = { rel: 'self', type: 'application/activity+json', href: alice.id }
  const answers = [
    { type, body: '{"subject":' },
    { type, body: { subject: 'acct:alice@good.test', links: [{ ...self, href: 'https://127.0.0.1/users/alice' }] } },
    { type, body: { subject: 'acct:alice@good.test', links: [self], padding: 'x'.repeat(100_000) } },
    { type: 'text/html', body: { subject: 'acct:alice@good.test', links: [self] } },
    { status: 302, headers: { location: 'http://good.test/elsewhere' } },
    { type, body: { subject: 'acct:bob@good.test', links: [self] } },
  ]
  for (const answer of answers) {
    peer.serve(url, answer)
    gateway.system.advance(6 * 60_000)
    expect(await postActivity(gateway, alice, composeNote(alice))).toMatchObject({ status: 202 })
    const [record] = await stage.listStoredMessages()
    expect(record?.message.sender.address).toBe('@~unconfirmed@good.test')
  }
})
