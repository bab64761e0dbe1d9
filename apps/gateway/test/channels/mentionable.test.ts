import type { NormalizedMessage } from '@postern/message'
import { formatTransportMethod, normalizedMessageSchema } from '@postern/message'
import { describeSendRequest } from '@postern/simulation'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, gatewayOrigin } from '../setup/gateway.ts'
import type { SlowGateway } from '../setup/slow-gateway.ts'
import { openSlowGateway } from '../setup/slow-gateway.ts'

// These tests check rules of the Mentionable reference that hold for every channel, over real sockets and with real proofs.

let gateway: SlowGateway

beforeAll(async () => {
  gateway = await openSlowGateway({
    desk: { history: { keep_head: 0, max_turns: 2 } },
    tools: { use: 'builtin:help' },
  })
})
afterAll(() => gateway.close())

/** Returns the next message that the agent gets; the agent answers at once. */
async function readNext(): Promise<NormalizedMessage> {
  const run = await gateway.nextRun()
  run.finish()
  return run.message
}

interface Endpoint {
  /** Sends a first message. @returns the ids that it was sent with */
  first(): Promise<{ readonly id: string; readonly thread: string }>
  /** Sends a reply to the first message. */
  reply(): Promise<{ readonly id: string; readonly thread: string; readonly inReplyTo: string }>
}

const context = 'https://mastodon.test/contexts/mentionable'
let note = ''
let mail = ''

const endpoints: Readonly<Record<'activitypub' | 'a2a' | 'email', Endpoint>> = {
  activitypub: {
    async first() {
      const { activityId, objectId } = await gateway.simulation.fediverse.deliver({
        to: '@desk@agents.test',
        text: 'first',
        context,
      })
      note = objectId
      return { id: activityId, thread: context }
    },
    async reply() {
      const { activityId } = await gateway.simulation.fediverse.deliver({
        to: '@desk@agents.test',
        text: 'reply',
        context,
        inReplyTo: note,
      })
      return { id: activityId, thread: context, inReplyTo: note }
    },
  },
  a2a: {
    async first() {
      void callA2a({ messageId: 'first', contextId: 'mentionable' })
      return { id: 'first', thread: 'mentionable' }
    },
    async reply() {
      const metadata = { mentionable: { in_reply_to: 'first' } }
      void callA2a({ messageId: 'reply', contextId: 'mentionable', metadata })
      return { id: 'reply', thread: 'mentionable', inReplyTo: 'first' }
    },
  },
  email: {
    async first() {
      const receipt = await gateway.simulation.mail.deliver({
        to: 'desk@agents.test',
        text: 'first',
        subject: 'Mentionable',
      })
      mail = receipt.mail.messageId.replace(/[<>]/g, '')
      return { id: mail, thread: mail }
    },
    async reply() {
      const receipt = await gateway.simulation.mail.deliver({
        to: 'desk@agents.test',
        text: 'reply',
        subject: 'Re: Mentionable',
        inReplyTo: `<${mail}>`,
        references: [`<${mail}>`],
      })
      return { id: receipt.mail.messageId.replace(/[<>]/g, ''), thread: mail, inReplyTo: mail }
    },
  },
}

function callA2a(message: { messageId: string; contextId: string; metadata?: Record<string, unknown> }) {
  return gateway.simulation.a2a.deliver({
    url: `${gatewayOrigin}/agents/desk/a2a`,
    text: message.messageId,
    ...message,
  })
}

/** The columns of MN-9.2, one for each protocol. */
const columns = {
  activitypub: {
    auth_method: ['ap-http-signature'],
    address: /^@alice@mastodon\.test$/,
    mention_relay: { kind: 'addressing', envelope_fields: ['to', 'cc'], also_inline: true },
  },
  a2a: { auth_method: ['a2a-jwt', 'a2a-oauth'], address: /^@[^@]+@[a-z.-]+\.test$/, mention_relay: { kind: 'none' } },
  email: {
    auth_method: ['email-dkim', 'email-dmarc'],
    address: /^@alice@alice\.test$/,
    mention_relay: { kind: 'recipient-field', fields: ['to', 'cc'] },
  },
} as const

describe.each(Object.keys(endpoints) as (keyof typeof endpoints)[])('a message by %s (MN-9.2)', via => {
  const column = columns[via]
  let firstMessage: Awaited<ReturnType<Endpoint['first']>>
  let answer: Awaited<ReturnType<Endpoint['reply']>>
  let first: NormalizedMessage
  let reply: NormalizedMessage

  beforeAll(async () => {
    firstMessage = await endpoints[via].first()
    first = await readNext()
    await eventually(async () => (await gateway.readMessage(first.id)).state === 'answered')
    answer = await endpoints[via].reply()
    reply = await readNext()
  })

  test('reaches the agent as a complete NormalizedMessage, in UTC, for one of our agents (MN-2)', () => {
    expect(normalizedMessageSchema.safeParse(JSON.parse(JSON.stringify(first))).error).toBeUndefined()
    expect(first.received_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
    expect(first.recipient).toBe('@desk@agents.test')
  })
  test('keeps the id of the protocol', () => expect([first.id, reply.id]).toEqual([firstMessage.id, answer.id]))
  test('has the store’s thread_id for the whole conversation, and the protocol’s as its source', () => {
    expect(reply.thread_id).toBe(first.thread_id)
    expect([first.thread_source, reply.thread_source]).toEqual([firstMessage.thread, answer.thread])
    expect(first.thread_id).not.toContain(firstMessage.thread)
  })
  test('names in in_reply_to the message that it answers', () =>
    expect([first.in_reply_to, reply.in_reply_to]).toEqual([undefined, answer.inReplyTo]))
  test('has the verified sender in sender.address', () => expect(first.sender.address).toMatch(column.address))
  test('names its proof in auth_method', () => expect(column.auth_method).toContain(first.sender.auth_method))
  test('has the sender’s transport data in profile (MN-2.2)', () => {
    const { profile, display_name } = first.sender
    if (via === 'a2a') return expect(profile).toBeUndefined()
    return expect(profile?.display_name ?? display_name).toMatch(/Alice/)
  })
  test('always names the protocol’s mention_relay (MN-8.1)', () => {
    expect(first.recipient_capabilities.mention_relay).toEqual(column.mention_relay)
    expect(reply.recipient_capabilities.mention_relay).toEqual(column.mention_relay)
  })
  test('names the endpoint in received_via', () => expect(first.received_via).toBe(via))
  test('has the received form without credentials in raw', () => {
    const text = typeof first.raw === 'string' ? first.raw : JSON.stringify(first.raw)
    const marks = { activitypub: '"type":"Create"', a2a: '"messageId":"first"', email: 'Subject: Mentionable' }
    expect(text).toContain(marks[via])
    expect(text).not.toMatch(/Bearer |"authorization"|"signature":/i)
  })
  test('has evidence from the verified credential, and a history (MN-9.1, MN-1.1, MN-2.1)', () => {
    const { sender } = reply
    expect(sender.verified).toBe(true)
    const [evidence] = sender.identities ?? []
    expect(evidence).toMatchObject({
      method: formatTransportMethod(sender.auth_method),
      audience: '@desk@agents.test',
      proof: { type: 'transport' },
    })
    expect(reply.history?.map(({ role }) => role)).toEqual(['user', 'assistant'])
  })
  test('has a history of turns with their own sender, parts, role and time, oldest first (MN-5, MN-2.3)', () => {
    const [question, answerMessage] = reply.history ?? []
    expect(question).toMatchObject({ id: firstMessage.id, role: 'user', sender: { address: first.sender.address } })
    expect(answerMessage).toMatchObject({ role: 'assistant', sender: { address: '@desk@agents.test' } })
    expect(question?.parts[0]).toMatchObject({ kind: 'text', content: expect.stringContaining('first') })
    const times = (reply.history ?? []).map(({ timestamp }) => timestamp)
    for (const time of times) expect(time).toMatch(/Z$/)
    expect(times).toEqual(times.toSorted())
  })
})

test('the gateway shortens the history by the agent’s policy before it calls the agent (MN-5, MN-2.4)', async () => {
  const messages: NormalizedMessage[] = []
  for (const text of ['one', 'two', 'three']) {
    void callA2a({ messageId: `trim ${text}`, contextId: 'trim' })
    messages.push(await readNext())
    await eventually(async () => (await gateway.readMessage(`trim ${text}`)).state === 'answered')
  }
  expect(messages.map(({ history = [] }) => history.length)).toEqual([0, 2, 2])
  expect(messages[2]?.history?.map(({ id, role }) => (role === 'user' ? id : role))).toEqual(['trim two', 'assistant'])
})

test('a streamed tool call appears under one id, when it begins and ends, while text about tools stays text (MN-4.2, MN-3)', async () => {
  const { a2a } = gateway.simulation
  const client = await a2a.client(`${gatewayOrigin}/agents/tools/.well-known/agent-card.json`, await a2a.token())
  const toolCalls: { type: string; toolCallId: string }[] = []
  let text = ''
  for await (const { payload } of client.sendMessageStream(describeSendRequest('tool'))) {
    if (payload?.$case !== 'artifactUpdate') continue
    for (const { content } of payload.value.artifact?.parts ?? []) {
      if (content?.$case === 'data') toolCalls.push(content.value as (typeof toolCalls)[number])
      if (content?.$case === 'text') text += content.value
    }
  }
  expect(toolCalls.map(({ type }) => type)).toEqual(['tool-call', 'tool-result'])
  expect(new Set(toolCalls.map(({ toolCallId }) => toolCallId)).size).toBe(1)
  expect(text).not.toBe('')
  void callA2a({ messageId: 'calling search(...)', contextId: 'words' })
  expect((await readNext()).parts).toEqual([{ kind: 'text', mime: 'text/plain', content: 'calling search(...)' }])
})

test('discovery documents are at the root of the domain, with https URLs only (MN-1.3)', async () => {
  for (const path of [
    '/.well-known/webfinger?resource=acct:desk@agents.test',
    '/.well-known/agent-card/desk',
    '/.well-known/agent-card.json',
    '/.well-known/mentionable-agents.json',
  ]) {
    const response = await fetch(`${gateway.url()}${path}`)
    expect([path, response.status]).toEqual([path, 200])
    expect(await response.text()).not.toMatch(/http:\/\/(?!webfinger\.net\/rel\/)/)
  }
})

test('the gateway never writes the legacy relation and the legacy URLs of the specifications (MN-1.3, MN-1.6)', async () => {
  for (const path of ['/.well-known/webfinger?resource=acct:desk@agents.test', '/.well-known/agent-card/desk']) {
    const text = await (await fetch(`${gateway.url()}${path}`)).text()
    expect(text).not.toMatch(/mentionable\.dev\/(agent-card|spec\/)/)
    expect(text).toContain('https://mentionable.dev/ns/')
  }
})

test('the card describes how to call: endpoint, transport, modes, skills and accepted proofs (MN-1.4)', async () => {
  const card = await (await fetch(`${gateway.url()}/.well-known/agent-card/desk`)).json()
  expect(card).toMatchObject({
    address: '@desk@agents.test',
    name: expect.any(String),
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    protocol_version: '0.1',
    a2a: {
      endpoint: expect.stringMatching(/^https:\/\//),
      transport: expect.stringMatching(/^https\+(json|sse|jsonrpc)$/),
      capabilities: { streaming: true, extensions: expect.any(Array) },
      skills: expect.any(Array),
      input_modes: expect.arrayContaining([{ kind: 'text', mime: 'text/plain' }]),
      output_modes: expect.any(Array),
      auth: { scheme: expect.stringMatching(/^(none|bearer-jwt|oauth2)$/) },
    },
    mentionable: expect.any(Object),
  })
})

test('the host’s own card and its endpoint are those of the default agent (MN-1.5)', async () => {
  const card = (await (await fetch(`${gateway.url()}/.well-known/agent-card.json`)).json()) as { name: string }
  const ownCard = (await (await fetch(`${gateway.url()}/agents/desk/.well-known/agent-card.json`)).json()) as {
    name: string
  }
  expect(card.name).toBe(ownCard.name)
  void gateway.simulation.a2a.deliver({ url: `${gatewayOrigin}/a2a`, text: 'to the host', messageId: 'host' })
  expect(await readNext()).toMatchObject({ id: 'host', recipient: '@desk@agents.test' })
})
