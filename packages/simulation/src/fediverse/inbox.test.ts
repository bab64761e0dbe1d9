import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TinyGateway, TinyPostOptions } from '../../test/tiny-gateway.ts'
import { makeKey, openTinyGateway } from '../../test/tiny-gateway.ts'
import type { Simulation } from '../index.ts'
import { disturbances, openSimulation } from '../index.ts'

let simulation: Simulation
let gateway: TinyGateway
let counter = 0

beforeAll(async () => {
  simulation = await openSimulation()
  gateway = await openTinyGateway(simulation)
})
afterAll(async () => {
  await Promise.all([simulation.close(), gateway.close()])
})

const inbox = 'https://mastodon.test/users/alice/inbox'

function composeReply(inReplyTo = 'https://mastodon.test/users/alice/statuses/1') {
  counter += 1
  const id = `https://agents.test/agents/echo/posts/${counter}`
  return {
    id: `${id}/activity`,
    type: 'Create',
    actor: gateway.actorId,
    object: { id, type: 'Note', inReplyTo, content: '<p>yes</p>' },
  }
}

async function postReply(options?: TinyPostOptions, url = inbox) {
  const activity = composeReply()
  const status = await gateway.post(url, activity, options)
  return { status, received: simulation.fediverse.received.find(each => each.activity.id === activity.id) }
}

test('the inbox verifies a signed activity with the gateway’s actor, answers 202 and keeps it', async () => {
  expect(await postReply()).toMatchObject({
    status: 202,
    received: { verified: true, host: 'mastodon.test', arrivals: 1 },
  })
})

test('the shared inbox also accepts activities, and treats hs2019 as RSA with SHA-256', async () => {
  const sharedInboxResult = await postReply({ algorithm: 'hs2019' }, 'https://mastodon.test/inbox')
  expect(sharedInboxResult).toMatchObject({ status: 202, received: { verified: true, inbox: '/inbox' } })
})

test('a repeated activity gets the same answer and counts, and the inbox keeps one copy', async () => {
  const activity = composeReply()
  expect([await gateway.post(inbox, activity), await gateway.post(inbox, activity)]).toEqual([202, 202])
  const storedActivities = simulation.fediverse.received.filter(each => each.activity.id === activity.id)
  expect(storedActivities).toMatchObject([{ verified: true, arrivals: 2 }])
})

const stranger = makeKey()

test.each<[string, TinyPostOptions, RegExp]>([
  [
    'a body that does not match its digest',
    { change: headers => ({ ...headers, digest: `SHA-256=${'A'.repeat(43)}=` }) },
    /digest does not match/,
  ],
  ['another key’s signature', { privatePem: stranger.privatePem }, /signature does not verify/],
  ['no signature', { change: ({ signature: _, ...headers }) => headers }, /no authorization/i],
  ['a date of last week', { date: new Date(Date.now() - 7 * 86_400_000) }, /date is \d+ ms away/],
  [
    'a digest that is not signed',
    { signedFields: ['(request-target)', 'host', 'date'] },
    /digest was not a signed header/,
  ],
  [
    'a key that the actor does not list',
    { keyId: 'https://agents.test/agents/echo#other-key' },
    /does not own the key/,
  ],
  ['a key that the inbox cannot fetch', { keyId: 'https://agents.test/nowhere' }, /answered 404/],
])('the inbox refuses %s with 401 and keeps the reason', async (_, options, reason) => {
  const { status, received } = await postReply(options)
  expect(status).toBe(401)
  expect(received).toMatchObject({ verified: false, reason: expect.stringMatching(reason) })
})

test('the inbox refuses an activity by another actor than the signer', async () => {
  const activity = { ...composeReply(), actor: 'https://agents.test/agents/help' }
  expect(await gateway.post(inbox, activity)).toBe(401)
  expect(simulation.fediverse.received.at(-1)).toMatchObject({
    verified: false,
    reason: expect.stringContaining('not by the actor'),
  })
})

test('a refused activity does not count as an earlier copy of the honest one', async () => {
  const activity = composeReply()
  expect(await gateway.post(inbox, activity, { privatePem: stranger.privatePem })).toBe(401)
  expect(await gateway.post(inbox, activity)).toBe(202)
})

test('unknown people have no inbox', async () => {
  expect(await gateway.post('https://mastodon.test/users/nobody/inbox', composeReply())).toBe(404)
})

test('awaitReply() returns the verified answer, present or future', async () => {
  const object = 'https://mastodon.test/users/alice/statuses/42'
  const coming = simulation.fediverse.awaitReply(object, 30_000)
  await gateway.post(inbox, composeReply(object), { privatePem: stranger.privatePem })
  const activity = composeReply(object)
  await gateway.post(inbox, activity)
  expect((await coming).activity.id).toBe(activity.id)
  expect((await simulation.fediverse.awaitReply(object, 1)).activity.id).toBe(activity.id)
})

test('awaitReply() times out', async () => {
  await expect(simulation.fediverse.awaitReply('https://mastodon.test/none', 10)).rejects.toThrow(
    'No activity arrived: waited 10 ms',
  )
})

test('a test can make a host busy, gone, redirecting or down, and repair it', async () => {
  const { fediverse, loopback } = simulation
  const get = async () => loopback.request('https://mastodon.test/users/alice')
  fediverse.disturb('mastodon.test', disturbances.busyOnce)
  const busy = await get()
  expect([busy.status, busy.headers.get('retry-after'), (await get()).status]).toEqual([503, '1', 200])
  const fixGone = fediverse.disturb('mastodon.test', { ...disturbances.gone, path: /^\/users\/alice$/ })
  expect((await get()).status).toBe(410)
  expect((await loopback.request('https://mastodon.test/users/bob')).status).toBe(200)
  fixGone()
  const fixRedirect = fediverse.disturb('mastodon.test', disturbances.redirect('https://evil.test/users/mallory'))
  expect((await get()).headers.get('location')).toBe('https://evil.test/users/mallory')
  fixRedirect()
  const fixDown = fediverse.disturb('mastodon.test', disturbances.down)
  await expect(get()).rejects.toThrow(/socket hang up/)
  fixDown()
  expect((await get()).status).toBe(200)
})

test('GoToSocial shows its actors only for signed requests, and its key to everybody', async () => {
  const { fediverse, loopback } = simulation
  const url = 'https://gotosocial.test/users/alice'
  expect((await loopback.request(url)).status).toBe(401)
  const { host: _, ...headers } = await fediverse.sign({ method: 'GET', url }, 'alice@mastodon.test')
  const signedResponse = await loopback.request(url, { headers })
  const actor = JSON.parse(signedResponse.body.toString())
  const part = JSON.parse((await loopback.request(`${url}/main-key`)).body.toString())
  expect(actor).toMatchObject({ id: url, publicKey: { id: `${url}/main-key`, owner: url } })
  expect(part).toMatchObject({ id: url, publicKey: actor.publicKey })
  expect(part.inbox).toBeUndefined()
})

test('GoToSocial hides even its key from a signer whose name WebFinger does not know', async () => {
  const { fediverse, loopback } = simulation
  const url = 'https://gotosocial.test/users/alice'
  const { host: _, ...headers } = await fediverse.sign({ method: 'GET', url: `${url}/main-key` }, 'alice@mastodon.test')
  expect((await loopback.request(`${url}/main-key`, { headers })).status).toBe(200)
  const nameless = fediverse.disturb('mastodon.test', { ...disturbances.gone, path: /webfinger/ })
  const answer = await loopback.request(`${url}/main-key`, { headers })
  expect([answer.status, answer.body.toString()]).toEqual([500, expect.stringContaining('webfinger')])
  nameless()
})

test('WebFinger, actor and NodeInfo exist for local people', async () => {
  const get = async (url: string) => {
    const { status, headers, body } = await simulation.loopback.request(url)
    return { status, type: headers.get('content-type'), body: status === 200 ? JSON.parse(body.toString()) : undefined }
  }
  const finger = await get('https://mastodon.test/.well-known/webfinger?resource=acct:alice@mastodon.test')
  expect(finger).toMatchObject({ type: 'application/jrd+json', body: { subject: 'acct:alice@mastodon.test' } })
  const self = finger.body.links.find((link: { rel: string }) => link.rel === 'self').href
  expect(await get(self)).toMatchObject({
    type: 'application/activity+json; charset=utf-8',
    body: { preferredUsername: 'alice', inbox: `${self}/inbox`, publicKey: { id: `${self}#main-key`, owner: self } },
  })
  expect((await get('https://mastodon.test/.well-known/webfinger?resource=acct:nobody@mastodon.test')).status).toBe(404)
  const nodeinfo = await get('https://gotosocial.test/.well-known/nodeinfo')
  expect((await get(nodeinfo.body.links[0].href)).body.software.name).toBe('gotosocial')
})
