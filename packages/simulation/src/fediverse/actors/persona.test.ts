import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { MessageSignaturePlan } from '../../../test/message-signature.ts'
import { contentDigestOf, readSignatureByHand, signMessageByHand } from '../../../test/message-signature.ts'
import type { TinyGateway } from '../../../test/tiny-gateway.ts'
import { makeKey, openTinyGateway, readSignature } from '../../../test/tiny-gateway.ts'
import type { Simulation } from '../../index.ts'
import { openSimulation } from '../../index.ts'
import type { SimRequest } from '../../net/loopback-server.ts'

let simulation: Simulation
let gateway: TinyGateway

beforeEach(async () => {
  simulation = await openSimulation()
  gateway = await openTinyGateway(simulation)
})
afterEach(async () => {
  await Promise.all([simulation.close(), gateway.close()])
})

const to = '@echo@agents.test'
let counter = 0

async function deliverAs(from: string) {
  const receipt = await simulation.fediverse.deliver({ from, to, text: 'hello' })
  return { receipt, request: gateway.posted.at(-1) as SimRequest }
}

async function publicKeyOf(address: string): Promise<string> {
  return (await simulation.fediverse.actors.get(address)?.key())?.publicPem ?? ''
}

function composeLike() {
  counter += 1
  const id = `https://agents.test/likes/${counter}`
  return { id, type: 'Like', actor: gateway.actorId, object: 'https://snac.test/users/alice/statuses/1' }
}

const wait = (id: string) => simulation.fediverse.awaitActivity(({ activity }) => activity.id === id, 30_000)

async function read(url: string) {
  const { status, headers, body } = await simulation.loopback.request(url)
  return { status, headers, document: status === 200 ? JSON.parse(body.toString()) : undefined }
}

describe('snac.test', () => {
  const inbox = 'https://snac.test/users/alice/inbox'

  test('signs with draft-cavage and a key with a fragment', async () => {
    const { request } = await deliverAs('alice@snac.test')
    const signature = readSignature(request)
    expect(signature).toMatchObject({ keyId: 'https://snac.test/users/alice#main-key', algorithm: 'rsa-sha256' })
    expect(signature.holds(await publicKeyOf('alice@snac.test'))).toBe(true)
  })

  test('accepts any request with 202 and verifies its signature later', async () => {
    const [good, bad] = [composeLike(), composeLike()]
    expect(await gateway.post(inbox, good)).toBe(202)
    expect(await gateway.post(inbox, bad, { privatePem: makeKey().privatePem })).toBe(202)
    expect(await wait(good.id)).toMatchObject({ verified: true })
    expect(await wait(bad.id)).toMatchObject({ verified: false, reason: 'the signature does not verify' })
  })

  test('also accepts RFC 9421 signatures with 202, and drops the activity', async () => {
    const like = composeLike()
    expect(await postMessage(inbox, like)).toMatchObject({ status: 202 })
    expect(await wait(like.id)).toMatchObject({ verified: false, reason: expect.stringContaining('rfc9421') })
  })

  test('never fetches a new key', async () => {
    const before = composeLike()
    await gateway.post(inbox, before)
    expect(await wait(before.id)).toMatchObject({ verified: true })
    await gateway.close()
    gateway = await openTinyGateway(simulation)
    const after = composeLike()
    expect(await gateway.post(inbox, after)).toBe(202)
    expect(await wait(after.id)).toMatchObject({ verified: false, reason: 'the signature does not verify' })
    expect(await gateway.post('https://mastodon.test/users/alice/inbox', composeLike())).toBe(202)
  })
})

test('barekey.test serves only the key at its URL, and the actor lists it', async () => {
  const keyId = 'https://barekey.test/users/alice/main-key'
  const owner = 'https://barekey.test/users/alice'
  expect(readSignature((await deliverAs('alice@barekey.test')).request).keyId).toBe(keyId)
  const { document } = await read(keyId)
  expect(document).toMatchObject({
    id: keyId,
    type: 'Key',
    owner,
    publicKeyPem: await publicKeyOf('alice@barekey.test'),
  })
  expect(document.publicKey).toBeUndefined()
  expect((await read(owner)).document.publicKey).toMatchObject({
    id: keyId,
    owner,
    publicKeyPem: document.publicKeyPem,
  })
})

async function postMessage(
  url: string,
  activity: unknown,
  plan: Partial<MessageSignaturePlan> = {},
  sentBody?: string,
) {
  const body = JSON.stringify(activity)
  const { keyId, privatePem } = gateway
  const headers = signMessageByHand(url, body, { keyId, privatePem, ...plan })
  return simulation.loopback.request(url, { method: 'POST', headers, body: sentBody ?? body })
}

describe('rfc9421.test', () => {
  const inbox = 'https://rfc9421.test/users/alice/inbox'

  test('signs only with RFC 9421 in Mastodon’s profile', async () => {
    const { request } = await deliverAs('alice@rfc9421.test')
    const signature = readSignatureByHand(request)
    expect(signature.covered).toEqual(['@method', '@target-uri', 'content-digest'])
    expect(signature.keyId).toBe('https://rfc9421.test/users/alice#main-key')
    expect(Math.abs(Date.now() - signature.created)).toBeLessThan(60_000)
    expect(signature.holds(await publicKeyOf('alice@rfc9421.test'))).toBe(true)
    expect(request.headers['content-digest']).toBe(contentDigestOf(request.body))
    expect(request.headers.digest).toBeUndefined()
  })

  test('can send invalid requests like the others', async () => {
    await simulation.fediverse.deliver({ from: 'alice@rfc9421.test', to, text: 'hello', fault: 'forged' })
    const forgedSignature = readSignatureByHand(gateway.posted.at(-1) as SimRequest)
    expect(forgedSignature.holds(await publicKeyOf('alice@rfc9421.test'))).toBe(false)
    expect(forgedSignature.holds(await publicKeyOf('mallory@evil.test'))).toBe(true)
    await simulation.fediverse.deliver({ from: 'alice@rfc9421.test', to, text: 'hello', fault: 'expired' })
    const { created } = readSignatureByHand(gateway.posted.at(-1) as SimRequest)
    expect(Date.now() - created).toBeGreaterThan(47 * 3_600_000)
  })

  test('refuses draft-cavage and names its accepted scheme', async () => {
    const like = composeLike()
    expect(await gateway.post(inbox, like)).toBe(401)
    expect(await wait(like.id)).toMatchObject({ verified: false, reason: expect.stringContaining('draft-cavage') })
    const answer = await simulation.loopback.request(inbox, { method: 'POST', body: JSON.stringify(like) })
    expect(answer.headers.get('accept-signature')).toBe('sig1=("@method" "@target-uri" "content-digest");created;keyid')
  })

  test.each(['rfc9421.test', 'mastodon.test'])('verifies RFC 9421 at %s', async host => {
    const like = composeLike()
    expect(await postMessage(`https://${host}/users/alice/inbox`, like)).toMatchObject({ status: 202 })
    expect(await wait(like.id)).toMatchObject({ verified: true, host })
  })

  test.each<[string, Partial<MessageSignaturePlan>, string | undefined, RegExp]>([
    ['another key’s signature', { privatePem: makeKey().privatePem }, undefined, /does not verify/],
    ['one of last week', { created: new Date(Date.now() - 7 * 86_400_000) }, undefined, /date is \d+ ms away/],
    ['one that leaves the body out', { covered: ['@method', '@target-uri'] }, undefined, /required signed fields/i],
    ['a body that does not match its digest', {}, '{"id":"https://agents.test/other"}', /digest does not match/],
    [
      'a key that the actor does not list',
      { keyId: 'https://agents.test/agents/echo#other' },
      undefined,
      /own the key/,
    ],
  ])('refuses %s', async (_, plan, sentBody, reason) => {
    expect(await postMessage(inbox, composeLike(), plan, sentBody)).toMatchObject({ status: 401 })
    expect(simulation.fediverse.received.at(-1)).toMatchObject({
      verified: false,
      reason: expect.stringMatching(reason),
    })
  })
})

test('gone.test answers 410 for every actor, and can still send a Delete', async () => {
  const id = 'https://gone.test/users/alice'
  expect((await read(id)).status).toBe(410)
  const object = id
  const farewell = await simulation.fediverse.send({ from: 'alice@gone.test', to, type: 'Delete', object })
  expect(farewell).toMatchObject({ status: 202, activity: { type: 'Delete', actor: id, object: id } })
  expect(await gateway.post(`${id}/inbox`, composeLike())).toBe(410)
})

test('slow.test answers correctly after a delay', async () => {
  const startedAt = performance.now()
  expect((await read('https://slow.test/users/alice')).document).toMatchObject({ preferredUsername: 'alice' })
  expect(performance.now() - startedAt).toBeGreaterThan(250)
})

test.each([
  ['alice', 'https://redirector.test/moved/alice'],
  ['mallory', 'https://mastodon.test/users/alice'],
  ['carol', 'https://redirector.test/users/carol'],
])('redirector.test redirects a request for %s to %s', async (name, location) => {
  const { status, headers } = await read(`https://redirector.test/users/${name}`)
  expect([status, headers.get('location')]).toEqual([302, location])
})

test('redirector.test serves alice at the new URL, under the old id', async () => {
  const { document } = await read('https://redirector.test/moved/alice')
  expect(document.id).toBe('https://redirector.test/users/alice')
})
