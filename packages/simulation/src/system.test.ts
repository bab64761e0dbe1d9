import { decodeJwt } from 'jose'
import { createTransport } from 'nodemailer'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { TinyGateway } from '../test/tiny-gateway.ts'
import { openTinyGateway } from '../test/tiny-gateway.ts'
import type { Simulation } from './index.ts'
import { openSimulation, readMail } from './index.ts'
import type { SimRequest } from './net/loopback-server.ts'

let simulation: Simulation
let gateway: TinyGateway

beforeEach(async () => {
  simulation = await openSimulation()
  gateway = await openTinyGateway(simulation, { onPost: answerAsEcho })
})
afterEach(async () => {
  await Promise.all([simulation.close(), gateway.close()])
})

/** Answers each message once on its own channel, with the same text. */
async function answerAsEcho(request: SimRequest, tiny: TinyGateway) {
  if (request.path === '/email/inbound') return answerMail(request)
  const { id, object } = JSON.parse(request.body.toString())
  if (!String(id).startsWith('https://mastodon.test/')) return { status: 400 }
  const note = {
    id: `${tiny.actorId}/posts/1`,
    type: 'Note',
    inReplyTo: object.id,
    content: '<p>Yes &amp; no</p><p>Bye</p>',
  }
  void tiny.post('https://mastodon.test/inbox', {
    id: `${note.id}/activity`,
    type: 'Create',
    actor: tiny.actorId,
    object: note,
  })
  return { status: 202 }
}

async function answerMail({ body }: SimRequest) {
  const { messageId } = readMail(body)
  const transport = createTransport({ ...simulation.mail.submit, ignoreTLS: true })
  const reply = { from: 'echo@agents.test', to: 'alice@alice.test', text: 'Yes by mail', inReplyTo: `<${messageId}>` }
  void transport.sendMail(reply).finally(() => transport.close())
  return { status: 200 }
}

test('send() by ActivityPub returns the text of the signed reply and where to continue', async () => {
  const result = await simulation.send({ via: 'activitypub', to: 'echo', text: 'hello' })
  expect(result).toMatchObject({
    status: 'answered',
    id: expect.stringMatching(/^https:\/\/mastodon\.test\/users\/alice\/statuses\/\d+\/activity$/),
    thread: `${gateway.actorId}/posts/1`,
    reply: { text: 'Yes & no\n\nBye' },
  })
})

test('send() by mail returns the text of the reply in the sink and where to continue', async () => {
  const first = await simulation.send({ via: 'email', to: '@echo@agents.test', text: 'hello' })
  expect(first).toMatchObject({ status: 'answered', reply: { text: 'Yes by mail' } })
  await simulation.send({ via: 'email', to: 'echo', text: 'and now?', thread: first.thread })
  const second = readMail(gateway.posted.at(-1)?.body ?? Buffer.alloc(0))
  expect(second.inReplyTo).toBe(first.thread)
  expect(second.references.at(-1)).toBe(first.thread)
})

test.each(['activitypub', 'a2a', 'email'] as const)(
  'send() by %s refuses a thread that is no message id',
  async via => {
    const pendingResult = simulation.send({ via, to: 'echo', text: 'and now?', thread: '#3' })
    await expect(pendingResult).rejects.toThrow(`${via} knows no conversation "#3"`)
  },
)

test('send() by A2A reads the card, calls with an issuer’s token and returns the answer’s text', async () => {
  const result = await simulation.send({ via: 'a2a', to: 'echo', text: 'hello', from: 'carol' })
  expect(result).toMatchObject({ status: 'completed', reply: { text: 'You said: hello' } })
  const [token = ''] = simulation.a2a.peer.tokens
  expect(decodeJwt(token)).toMatchObject({ iss: 'https://issuer.test', sub: 'carol', aud: 'https://agents.test/a2a' })
})

test('send() reports the gateway’s refusal', async () => {
  const refusedResult = await simulation.send({
    via: 'activitypub',
    to: 'echo',
    text: 'x',
    from: 'alice@gotosocial.test',
  })
  expect(refusedResult).toMatchObject({ status: 'refused', refusal: { answer: 400 } })
  expect(refusedResult.reply).toBeUndefined()
})

test('send() reports that no reply came in time', async () => {
  const silent = await openSimulation()
  const mute = await openTinyGateway(silent)
  const result = await silent.send({ via: 'activitypub', to: 'echo', text: 'x', timeoutMs: 20 })
  expect(result.status).toBe('no_reply')
  await Promise.all([silent.close(), mute.close()])
})

test('send() needs a gateway', async () => {
  const alone = await openSimulation()
  await expect(alone.send({ via: 'email', to: 'echo', text: 'x' })).rejects.toThrow('No gateway is connected')
  await alone.close()
})

test('connectGateway() adds the gateway’s host to the DNS and keeps its keys', () => {
  simulation.dns.addRecord('agents.test', 'TXT', 'v=spf1 -all')
  simulation.connectGateway({ origin: 'https://agents.test', port: gateway.port })
  expect(simulation.dns.find('agents.test')).toEqual({
    A: ['127.0.0.1'],
    MX: [{ priority: 10, exchange: 'agents.test' }],
    TXT: ['v=spf1 -all'],
  })
})

test('the network lists a port for every host except the gateway', () => {
  expect(Object.keys(simulation.network.loopback)).toEqual(
    expect.arrayContaining(['mastodon.test', 'gotosocial.test', 'evil.test', 'dead.test', 'issuer.test', 'peer.test']),
  )
  expect(simulation.network.loopback).not.toHaveProperty('agents.test')
  expect(simulation.network.dns).toEqual([expect.stringMatching(/^127\.0\.0\.1:\d+$/)])
})

test('no peer can reach a host outside the simulation', async () => {
  await expect(simulation.loopback.request('https://example.com/')).rejects.toThrow(
    'The simulation has no host for https://example.com',
  )
  await expect(simulation.loopback.request('http://mastodon.test/')).rejects.toThrow('no host for http://mastodon.test')
})

test('close() ends everything, also pending waits', async () => {
  const before = process.getActiveResourcesInfo().length
  const otherSimulation = await openSimulation()
  otherSimulation.fediverse.disturb('mastodon.test', { delayMs: 60_000 })
  const slow = otherSimulation.loopback.request('https://mastodon.test/users/alice').catch(error => error.message)
  const waiting = otherSimulation.fediverse
    .awaitReply('https://mastodon.test/none', 60_000)
    .catch(error => error.message)
  await otherSimulation.mail.compose({ to: 'echo@agents.test', text: 'x' })
  await otherSimulation.close()
  expect(await waiting).toBe('No activity arrived: the simulation was closed')
  expect(await slow).toMatch(/socket hang up/)
  await expect.poll(() => process.getActiveResourcesInfo().length).toBeLessThanOrEqual(before)
})
