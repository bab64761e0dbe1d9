import { createGuardedFetch } from '@postern/http'
import type { GuardedFetch } from '@postern/message'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { PostLengthCache } from '../../src/peers/post-length-cache.ts'
import { createPostLengthCache } from '../../src/peers/post-length-cache.ts'
import type { Peer, PeerAnswer, PeerRoute } from '../peer.ts'
import { openPeer } from '../peer.ts'
import type { TestSystem } from '../system.ts'
import { createTestSystem } from '../system.ts'

let peer: Peer
let system: TestSystem
let limits: PostLengthCache
let fetch: GuardedFetch & { close(): void }

beforeEach(async () => {
  peer = await openPeer(['good.test', 'other.test'])
  fetch = createGuardedFetch({ userAgent: 'Postern/0', loopback: peer.loopback })
  system = createTestSystem(fetch)
  limits = createPostLengthCache(system)
})
afterEach(async () => {
  fetch.close()
  await peer.close()
})

const type = 'application/json; charset=utf-8'
const urls = {
  discovery: 'https://good.test/.well-known/nodeinfo',
  nodeInfo: 'https://good.test/nodeinfo/2.0',
  v2: 'https://good.test/api/v2/instance',
  v1: 'https://good.test/api/v1/instance',
} as const
const hour = 3_600_000

function serve(url: string, body: unknown, answer: PeerAnswer = {}): void {
  peer.serve(url, { type, body, ...answer })
}

function linkTo(href: string, version = '2.0') {
  return { links: [{ rel: `http://nodeinfo.diaspora.software/ns/schema/${version}`, href }] }
}

function serveSoftware(name: unknown, metadata: unknown = {}): void {
  serve(urls.discovery, linkTo(urls.nodeInfo))
  serve(urls.nodeInfo, { version: '2.0', software: { name, version: '1' }, metadata })
}

async function learn(): Promise<number> {
  await limits.refresh('good.test')
  return limits.findPostLength('good.test')
}

test('an unknown host has a limit of 500 characters', () => {
  expect(limits.findPostLength('good.test')).toBe(500)
  expect(peer.requests).toEqual([])
})

test('the gateway reads the operator’s limit from a Mastodon instance', async () => {
  serveSoftware('mastodon')
  serve(urls.v2, { configuration: { statuses: { max_characters: 1_234 } } })
  expect(await learn()).toBe(1_234)
  expect(peer.countOf(urls.v1)).toBe(0)
})

test.each([
  ['configuration of version 1', { configuration: { statuses: { max_characters: 2_345 } } }],
  ['max_toot_chars', { max_toot_chars: 2_345 }],
])('the gateway reads the limit of an older instance from %s', async (_, body) => {
  serveSoftware('Pleroma')
  serve(urls.v1, body)
  expect(await learn()).toBe(2_345)
  expect(peer.countOf(urls.v2)).toBe(1)
})

test('the gateway reads the limit of Misskey and its forks from NodeInfo, without a further request', async () => {
  serveSoftware('sharkey', { maxNoteTextLength: 8_000 })
  expect(await learn()).toBe(8_000)
  expect(peer.requests).toHaveLength(2)
})

test.each([
  ['misskey', 3_000],
  ['lemmy', 10_000],
  ['gotosocial', 5_000],
  ['akkoma', 5_000],
  ['mastodon', 500],
  ['wordpress', 100_000],
  ['something else', 500],
  ['constructor', 500],
])('the gateway assumes the limit of %s to be %s if the server declares none', async (name, length) => {
  serveSoftware(name)
  expect(await learn()).toBe(length)
})

test.each([
  [1, 200],
  [199.9, 200],
  [600.7, 600],
  [100_001, 100_000],
  [1e300, 100_000],
])('the gateway clamps a declared limit of %s to %s', async (declared, length) => {
  serveSoftware('mastodon')
  serve(urls.v2, { configuration: { statuses: { max_characters: declared } } })
  expect(await learn()).toBe(length)
})

test.each([
  ['text', '9000'],
  ['zero', 0],
  ['negative', -1],
  ['a list', [9_000]],
  ['an object', { length: 9_000 }],
  ['true', true],
  ['null', null],
])('the gateway ignores a declared limit that is %s', async (_, declared) => {
  serveSoftware('gotosocial', { maxNoteTextLength: declared })
  serve(urls.v2, { configuration: { statuses: { max_characters: declared } }, max_toot_chars: declared })
  serve(urls.v1, { configuration: declared, max_toot_chars: declared })
  expect(await learn()).toBe(5_000)
})

const nodeInfo = { software: { name: 'lemmy' }, metadata: { maxNoteTextLength: 9_000 } }
const strange: readonly (readonly [what: string, discovery: PeerRoute, description?: PeerRoute])[] = [
  ['has no NodeInfo', { status: 404 }],
  ['is broken', { status: 500, type, body: linkTo(urls.nodeInfo) }],
  ['sends no JSON', { type, body: '{"links":' }],
  ['sends a page', { type: 'text/html', body: linkTo(urls.nodeInfo) }],
  ['sends null', { type, body: 'null' }],
  ['sends a list', { type, body: '[[]]' }],
  ['sends links that are none', { type, body: { links: [null, 1, 'x', { rel: 1, href: {} }] } }],
  ['has a link of an unknown kind', { type, body: { links: [{ rel: 'self', href: urls.nodeInfo }] } }],
  ['sends something deep', { type, body: '['.repeat(100_000) }],
  ['sends 10 MB', { type, body: { ...linkTo(urls.nodeInfo), padding: 'x'.repeat(10_000_000) } }],
  ['redirects elsewhere', { status: 302, headers: { location: 'https://other.test/nodeinfo' } }],
  ['links to another host', { type, body: linkTo('https://other.test/nodeinfo') }],
  ['links to a host that begins like it', { type, body: linkTo('https://good.test.other.test/nodeinfo') }],
  ['links to http', { type, body: linkTo('http://good.test/nodeinfo/2.0') }],
  ['links to a name with a password', { type, body: linkTo('https://good.test:x@other.test/nodeinfo') }],
  ['describes itself as a list', { type, body: linkTo(urls.nodeInfo) }, { type, body: [nodeInfo] }],
  [
    'describes itself in 10 MB',
    { type, body: linkTo(urls.nodeInfo) },
    { type, body: { ...nodeInfo, x: 'x'.repeat(1e7) } },
  ],
  [
    'redirects its description',
    { type, body: linkTo(urls.nodeInfo) },
    { status: 301, headers: { location: 'https://other.test/nodeinfo' } },
  ],
]

test.each(strange.map(([what, ...routes]) => ({ what, routes })))(
  'a host that $what has a limit of 500 characters, and the gateway asks no other host',
  async ({ routes: [discovery, description = { type, body: nodeInfo }] }) => {
    peer.serve(urls.discovery, discovery)
    peer.serve(urls.nodeInfo, description)
    serve('https://other.test/nodeinfo', nodeInfo)
    expect(await learn()).toBe(500)
    expect(peer.requests.every(({ host }) => host === 'good.test')).toBe(true)
  },
)

test('the gateway uses the newest NodeInfo version', async () => {
  const [older] = linkTo('https://good.test/older', '1.0').links
  const [newer] = linkTo(urls.nodeInfo, '2.1').links
  serve(urls.discovery, { links: [older, newer] })
  serve(urls.nodeInfo, nodeInfo)
  expect(await learn()).toBe(9_000)
})

test('an instance that redirects elsewhere, or sends 10 MB, gets its software’s limit', async () => {
  serveSoftware('akkoma')
  serve(urls.v2, {}, { status: 302, headers: { location: 'https://other.test/api/v2/instance' } })
  serve(urls.v1, { max_toot_chars: 9_000, padding: 'x'.repeat(10_000_000) })
  serve('https://other.test/api/v2/instance', { max_toot_chars: 9_000 })
  expect(await learn()).toBe(5_000)
  expect(peer.countOf('https://other.test/api/v2/instance')).toBe(0)
})

test('the gateway gives up on a host that never answers, and retries after an hour', async () => {
  peer.serve(urls.discovery, 'hang')
  let timeoutMs = 500
  limits = createPostLengthCache({
    now: () => system.now(),
    fetch: (url, request) => fetch(url, { ...request, timeoutMs }),
  })
  expect(await learn()).toBe(500)
  timeoutMs = 30_000
  serveSoftware('lemmy')
  expect(await learn()).toBe(500)
  expect(peer.countOf(urls.discovery)).toBe(1)
  system.advance(hour)
  expect(await learn()).toBe(10_000)
})

test('a slow host gets ten seconds for all its responses together', async () => {
  serveSoftware('pleroma')
  const timeoutsSeconds: (number | undefined)[] = []
  limits = createPostLengthCache({
    now: () => system.now(),
    fetch: (url, request) => {
      timeoutsSeconds.push(Math.round((request?.timeoutMs ?? 0) / 1_000))
      system.advance(4_000)
      return fetch(url, request)
    },
  })
  expect(await learn()).toBe(5_000)
  expect(timeoutsSeconds).toEqual([10, 6, 2])
})

test('the gateway remembers the limit of a host for a day', async () => {
  serveSoftware('mastodon')
  serve(urls.v2, { configuration: { statuses: { max_characters: 1_000 } } })
  await learn()
  serve(urls.v2, { configuration: { statuses: { max_characters: 2_000 } } })
  system.advance(24 * hour - 60_000)
  expect(await learn()).toBe(1_000)
  system.advance(60_000)
  expect(limits.findPostLength('good.test')).toBe(500)
  expect(await learn()).toBe(2_000)
})

test('the gateway retries an instance without a declared limit after an hour', async () => {
  serveSoftware('akkoma')
  serve(urls.v2, {}, { status: 503 })
  expect(await learn()).toBe(5_000)
  serve(urls.v2, { configuration: { statuses: { max_characters: 7_000 } } })
  system.advance(hour)
  expect(await learn()).toBe(7_000)
})

test('concurrent lookups of one host share one request', async () => {
  serveSoftware('lemmy')
  await Promise.all(Array.from({ length: 20 }, () => limits.refresh('good.test')))
  expect(limits.findPostLength('good.test')).toBe(10_000)
  expect(peer.countOf(urls.discovery)).toBe(1)
})

test.each(['', ' ', '127.0.0.1', 'localhost', '[::1]', 'good.test/x?', 'a@other.test', 'other.test#', 'no where'])(
  'the gateway does not ask the host "%s", and does not throw',
  async host => {
    await limits.refresh(host)
    expect(limits.findPostLength(host)).toBe(500)
    expect(peer.requests).toEqual([])
  },
)

test('the gateway drops the oldest hosts when there are too many', async () => {
  serveSoftware('lemmy')
  await learn()
  const failing: GuardedFetch = () => Promise.reject(new Error('not there'))
  const crowded = createPostLengthCache({
    now: () => system.now(),
    fetch: (url, request) => (url.includes('good') ? fetch : failing)(url, request),
  })
  await crowded.refresh('good.test')
  for (let at = 0; at < 5_000; at += 1) await crowded.refresh(`h${at}.test`)
  expect(crowded.findPostLength('good.test')).toBe(500)
})
