import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TinyGateway } from '../../test/tiny-gateway.ts'
import { digestOf, openTinyGateway, readSignature } from '../../test/tiny-gateway.ts'
import type { Fault, NoteReceipt, Simulation } from '../index.ts'
import { openSimulation } from '../index.ts'
import type { SimRequest } from '../net/loopback-server.ts'

let simulation: Simulation
let gateway: TinyGateway

beforeAll(async () => {
  simulation = await openSimulation()
  gateway = await openTinyGateway(simulation)
})
afterAll(async () => {
  await Promise.all([simulation.close(), gateway.close()])
})

const to = '@echo@agents.test'

async function deliver(delivery: Partial<Parameters<Simulation['fediverse']['deliver']>[0]> = {}) {
  const receipt: NoteReceipt = await simulation.fediverse.deliver({ to, text: 'hello', ...delivery })
  const request = gateway.posted.at(-1) as SimRequest
  return { receipt, request, signature: readSignature(request) }
}

async function publicKeyOf(address: string): Promise<string> {
  return (await simulation.fediverse.actors.get(address)?.key())?.publicPem ?? ''
}

const readBody = ({ body }: SimRequest) => JSON.parse(body.toString())

test('a delivery has Mastodon’s signature: fragment key, rsa-sha256, covered digest', async () => {
  const { receipt, request, signature } = await deliver()
  expect(receipt.status).toBe(202)
  expect(request).toMatchObject({ method: 'POST', host: 'agents.test', target: '/agents/echo/inbox' })
  expect(request.headers).toMatchObject({ 'content-type': 'application/activity+json', digest: digestOf(request.body) })
  expect(signature).toMatchObject({
    keyId: 'https://mastodon.test/users/alice#main-key',
    algorithm: 'rsa-sha256',
    fields: ['(request-target)', 'host', 'date', 'digest', 'content-type'],
  })
  expect(signature.holds(await publicKeyOf('alice@mastodon.test'))).toBe(true)
  expect(Math.abs(Date.now() - Date.parse(String(request.headers.date)))).toBeLessThan(60_000)
})

test('GoToSocial names its key by a separate path and its algorithm hs2019', async () => {
  const { signature } = await deliver({ from: 'alice@gotosocial.test' })
  expect(signature).toMatchObject({ keyId: 'https://gotosocial.test/users/alice/main-key', algorithm: 'hs2019' })
  expect(signature.holds(await publicKeyOf('alice@gotosocial.test'))).toBe(true)
})

test('the activity is a Create of a Note that mentions the agent, in Mastodon’s format', async () => {
  const { receipt, request } = await deliver({ text: 'a < b\nand\n\nmore', summary: 'careful' })
  const activity = readBody(request)
  expect(activity).toMatchObject({
    id: `${receipt.objectId}/activity`,
    type: 'Create',
    actor: 'https://mastodon.test/users/alice',
    object: {
      id: receipt.objectId,
      type: 'Note',
      attributedTo: 'https://mastodon.test/users/alice',
      summary: 'careful',
      sensitive: true,
      atomUri: receipt.objectId,
      inReplyTo: null,
      tag: [{ type: 'Mention', href: gateway.actorId, name: '@echo@agents.test' }],
    },
  })
  const { content, contentMap, conversation } = activity.object
  expect(content).toContain('class="u-url mention">@<span>echo</span></a></span> a &lt; b<br />and</p><p>more</p>')
  expect(contentMap).toEqual({ en: content })
  expect(conversation).toMatch(/^tag:mastodon\.test,\d{4}-\d\d-\d\d:objectId=\d+:objectType=Conversation$/)
})

const everybody = 'https://www.w3.org/ns/activitystreams#Public'
const followers = 'https://mastodon.test/users/alice/followers'

test.each([
  ['public', { to: [everybody], cc: [followers, 'echo'] }],
  ['unlisted', { to: [followers], cc: [everybody, 'echo'] }],
  ['followers', { to: [followers], cc: ['echo'] }],
  ['direct', { to: ['echo'], cc: [] }],
] as const)('a %s note has this audience', async (visibility, audience) => {
  const { request } = await deliver({ visibility })
  const name = (ids: string[]) => ids.map(id => (id === gateway.actorId ? 'echo' : id))
  const activity = readBody(request)
  expect({ to: name(activity.to), cc: name(activity.cc) }).toEqual(audience)
  expect(activity.object).toMatchObject({ to: activity.to, cc: activity.cc })
})

test('a reply stays in the conversation of its note', async () => {
  const first = await deliver()
  const second = await deliver({ inReplyTo: first.receipt.objectId })
  const { inReplyTo, conversation, context } = readBody(second.request).object
  expect(inReplyTo).toBe(first.receipt.objectId)
  expect({ conversation, context }).toEqual({
    conversation: readBody(first.request).object.conversation,
    context: readBody(first.request).object.context,
  })
})

test('a test can choose the URL of a note, or its last part', async () => {
  const address = 'https://mastodon.test/users/alice/statuses/wanted'
  expect((await deliver({ id: 'wanted' })).receipt).toMatchObject({
    objectId: address,
    activityId: `${address}/activity`,
  })
  expect((await deliver({ id: address })).receipt.objectId).toBe(address)
  expect((await deliver({ id: 'wanted', fault: 'key_host_down' })).receipt.objectId).toBe(
    'https://dead.test/users/alice/statuses/wanted',
  )
})

test('a delivery uses the shared inbox on request', async () => {
  const { request } = await deliver({ inbox: 'shared' })
  expect(request.target).toBe('/inbox')
})

test('anybody can read a public note, and nobody can read a direct one', async () => {
  const open = await deliver()
  const secret = await deliver({ visibility: 'direct' })
  const statusOf = async (url: string) => (await simulation.loopback.request(url)).status
  expect(await statusOf(open.receipt.objectId)).toBe(200)
  expect(await statusOf(open.receipt.activityId)).toBe(200)
  expect(await statusOf(secret.receipt.objectId)).toBe(404)
})

test('an unsigned delivery has everything except the signature', async () => {
  const { request } = await deliver({ fault: 'unsigned' })
  expect(request.headers.signature).toBeUndefined()
  expect(request.headers.digest).toBe(digestOf(request.body))
})

test('a tampered delivery has a valid signature and a wrong digest', async () => {
  const { request, signature } = await deliver({ fault: 'tampered' })
  expect(signature.holds(await publicKeyOf('alice@mastodon.test'))).toBe(true)
  expect(request.headers.digest).not.toBe(digestOf(request.body))
})

test('a forged delivery has alice’s key id and the attacker’s signature', async () => {
  const { signature } = await deliver({ fault: 'forged' })
  expect(signature.keyId).toBe('https://mastodon.test/users/alice#main-key')
  expect(signature.holds(await publicKeyOf('alice@mastodon.test'))).toBe(false)
  expect(signature.holds(await publicKeyOf('mallory@evil.test'))).toBe(true)
})

test('an expired delivery has an honest signature from two days ago', async () => {
  const { request, signature } = await deliver({ fault: 'expired' })
  expect(signature.holds(await publicKeyOf('alice@mastodon.test'))).toBe(true)
  expect(Date.now() - Date.parse(String(request.headers.date))).toBeGreaterThan(47 * 3_600_000)
})

test('a wrong_owner delivery has the attacker’s valid signature and alice as the actor', async () => {
  const { request, signature } = await deliver({ fault: 'wrong_owner' })
  expect(signature.keyId).toBe('https://evil.test/users/mallory#main-key')
  expect(signature.holds(await publicKeyOf('mallory@evil.test'))).toBe(true)
  expect(readBody(request).actor).toBe('https://mastodon.test/users/alice')
})

test('a replayed delivery sends the same request twice', async () => {
  const before = gateway.posted.length
  await deliver({ fault: 'replayed' })
  const [first, second, ...more] = gateway.posted.slice(before) as [SimRequest, SimRequest, ...SimRequest[]]
  expect(more).toEqual([])
  expect(second.headers).toEqual(first.headers)
  expect(second.body.equals(first.body)).toBe(true)
})

test.each([
  ['oversized', (body: string) => body.length > 2 ** 21 && JSON.parse(body).type === 'Create'],
  ['deep', (body: string) => body.includes('['.repeat(2_000)) && body.startsWith('{')],
  ['malformed', (body: string) => !isJson(body)],
] as const satisfies readonly (readonly [Fault, (body: string) => boolean])[])(
  'a delivery with %s has a wrong body and a valid signature',
  async (fault, isWrong) => {
    const { request, signature } = await deliver({ fault })
    expect(isWrong(request.body.toString())).toBe(true)
    expect(request.headers.digest).toBe(digestOf(request.body))
    expect(signature.holds(await publicKeyOf('alice@mastodon.test'))).toBe(true)
  },
)

test('a key_host_down delivery has a key whose server never answers', async () => {
  const { signature } = await deliver({ fault: 'key_host_down' })
  expect(signature.keyId).toBe('https://dead.test/users/alice#main-key')
  await expect(simulation.loopback.request(signature.keyId)).rejects.toThrow(/socket hang up/)
})

test('an unknown_recipient delivery goes to the inbox of an unknown agent', async () => {
  const { request } = await deliver({ fault: 'unknown_recipient' })
  expect(request.target).toBe('/agents/no-such-agent/inbox')
  expect(readBody(request).object.tag).toMatchObject([{ name: '@no-such-agent@agents.test' }])
})

test('an unknown persona cannot send', async () => {
  await expect(deliver({ from: 'nobody@mastodon.test' })).rejects.toThrow('Nobody is called nobody@mastodon.test here')
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
