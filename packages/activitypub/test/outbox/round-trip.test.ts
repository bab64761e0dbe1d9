import type { Simulation } from '@postern/simulation'
import { openSimulation } from '@postern/simulation'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ActivityPubGateway } from '../gateway.ts'
import { domain, openActivityPubGateway, origin } from '../gateway.ts'
import type { Listener } from '../listen.ts'
import { listenApp } from '../listen.ts'

let simulation: Simulation
let gateway: ActivityPubGateway
let listener: Listener

beforeAll(async () => {
  simulation = await openSimulation()
  gateway = await openActivityPubGateway({ loopback: simulation.network.loopback })
  listener = await listenApp(gateway.app)
  simulation.connectGateway({ origin, port: listener.port })
  gateway.work()
})

afterAll(async () => {
  await listener?.close()
  await gateway?.close()
  await simulation?.close()
})

const to = `@echo@${domain}`

test.each(['alice@mastodon.test', 'alice@gotosocial.test'])(
  'a mention by %s gets a signed reply that its server verifies',
  async from => {
    const sent = await simulation.fediverse.deliver({ from, to, text: 'hello there' })
    expect(sent.status).toBe(202)
    const { activity, verified } = await simulation.fediverse.awaitReply(sent.objectId, 30_000)
    expect(verified).toBe(true)
    const note = activity.object as Record<string, unknown>
    const author = simulation.fediverse.actors.get(from)
    expect(activity).toMatchObject({ type: 'Create', actor: `${origin}/agents/echo` })
    expect(note).toMatchObject({
      type: 'Note',
      attributedTo: `${origin}/agents/echo`,
      inReplyTo: sent.objectId,
      context: sent.activity.object.context,
      conversation: sent.activity.object.conversation,
      to: ['https://www.w3.org/ns/activitystreams#Public'],
      tag: [{ type: 'Mention', href: author?.id, name: `@${from}` }],
    })
    expect(note.cc).toContain(author?.id)
    expect(note.content).toContain('heard: hello there')
    expect(note.content).toContain('class="u-url mention"')
  },
)

test('the agent gets the message of a confirmed sender with its proof', async () => {
  const sent = await simulation.fediverse.deliver({
    from: 'bob@mastodon.test',
    to,
    text: 'who am I?',
    visibility: 'direct',
  })
  await simulation.fediverse.awaitReply(sent.objectId, 30_000)
  const message = gateway.resolved.find(({ id }) => id === sent.activityId)
  const actor = simulation.fediverse.actors.get('bob@mastodon.test')
  expect(message).toMatchObject({
    thread_source: sent.activity.object.context,
    recipient: to,
    received_via: 'activitypub',
    parts: [{ kind: 'text', mime: 'text/plain', content: 'who am I?' }],
    sender: {
      address: '@bob@mastodon.test',
      display_name: 'Bob',
      auth_method: 'ap-http-signature',
      verified: true,
      key_id: actor?.keyId,
      profile: { provider_subject: actor?.id, url: 'https://mastodon.test/@bob', locale: 'en' },
      identities: [
        {
          subject: actor?.id,
          issuer: 'mastodon.test',
          method: 'urn:mentionable:auth:ap-http-signature:v0.1',
          audience: to,
          proof: { type: 'transport', key_id: actor?.keyId },
        },
      ],
    },
  })
  expect(message?.raw).toMatchObject({ id: sent.activityId, type: 'Create' })
})

test('a reply to the agent’s reply returns to the same thread with its history', async () => {
  const first = await simulation.fediverse.deliver({ to, text: 'first' })
  const reply = await simulation.fediverse.awaitReply(first.objectId, 30_000)
  const answerId = (reply.activity.object as { id: string }).id
  const second = await simulation.fediverse.deliver({ to, text: 'second', inReplyTo: answerId })
  await simulation.fediverse.awaitReply(second.objectId, 30_000)
  const message = gateway.resolved.find(({ id }) => id === second.activityId)
  expect(message?.in_reply_to).toBe(answerId)
  expect(message?.history?.map(({ role }) => role)).toEqual(['user', 'assistant'])
})

test.each(['followers', 'direct'] as const)(
  'the gateway sends an answer to a %s post only to the author',
  async visibility => {
    const sent = await simulation.fediverse.deliver({ to, text: 'between us', visibility })
    const { activity, inbox } = await simulation.fediverse.awaitReply(sent.objectId, 30_000)
    const author = simulation.fediverse.actors.get('alice@mastodon.test')
    expect(activity).toMatchObject({ to: [author?.id], cc: [] })
    expect(inbox).toBe('/users/alice/inbox')
  },
)

test('an answer keeps the content warning and the narrower visibility', async () => {
  const sent = await simulation.fediverse.deliver({
    to,
    text: 'the butler',
    visibility: 'unlisted',
    summary: 'spoilers',
  })
  const { activity } = await simulation.fediverse.awaitReply(sent.objectId, 30_000)
  expect(activity.object).toMatchObject({
    summary: 'spoilers',
    sensitive: true,
    to: [`${origin}/agents/echo/followers`],
  })
  expect((activity.object as { cc: string[] }).cc).toContain('https://www.w3.org/ns/activitystreams#Public')
})

test('a busy inbox gets the same document a little later', async () => {
  simulation.fediverse.disturb('mastodon.test', { path: /inbox$/, method: 'POST', times: 1, answer: { status: 503 } })
  const sent = await simulation.fediverse.deliver({ to, text: 'patience' })
  const { arrivals } = await simulation.fediverse.awaitReply(sent.objectId, 30_000)
  expect(arrivals).toBe(1)
})

test('the gateway serves an answer under its id', async () => {
  const sent = await simulation.fediverse.deliver({ to, text: 'fetch me' })
  const { activity } = await simulation.fediverse.awaitReply(sent.objectId, 30_000)
  const note = activity.object as { id: string; content: string }
  const answer = await simulation.loopback.request(note.id, { headers: { accept: 'application/activity+json' } })
  expect(JSON.parse(answer.body.toString())).toMatchObject({ id: note.id, type: 'Note', content: note.content })
})

test('the shared inbox accepts the same activities as an agent’s inbox, once', async () => {
  const id = 'https://mastodon.test/users/alice/statuses/77'
  const first = await simulation.fediverse.deliver({ to, text: 'both ways', id, inbox: 'shared' })
  await simulation.fediverse.deliver({ to, text: 'both ways', id })
  await simulation.fediverse.awaitReply(first.objectId, 30_000)
  expect(gateway.resolved.filter(message => message.id === first.activityId)).toHaveLength(1)
})
