import { createHmac, hash } from 'node:crypto'
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { SlackApi } from '@postern/platforms/testing'
import { botToken, openSlackApi, signingSecret, signSlack, slackBot, writeEvent } from '@postern/platforms/testing'
import { describeSendRequest } from '@postern/simulation'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { channelModules } from '../../src/channels.ts'
import { ticker } from '../channels/ticker/index.ts'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, gatewayOrigin, openTestGateway } from '../setup/gateway.ts'

// These tests check that an agent with a memory by `thread_id` never answers a person from another person's conversation.

const modules = [...channelModules, ticker]
const secret = 'sixteen or more characters'
const tokenOf = (person: string) => `token-of-${person}-for-the-tests`
const secretWords = 'My number is 42'

let slackApi: SlackApi
let gateway: TestGateway

beforeAll(async () => {
  slackApi = await openSlackApi()
  const tokens = ['ann', 'mallory'].map(name => ({ name, sha256: hash('sha256', tokenOf(name)) }))
  gateway = await openTestGateway(
    ({ network }) => ({
      network: { loopback: { ...network.loopback, 'slack.com': slackApi.port } },
      platforms: { slack: { bot_token: botToken, signing_secret: signingSecret } },
      agents: { desk: { use: '../agents/reporting/diarist.ts' } },
      default_agent: 'desk',
      web: { enabled: true, auth: { tokens } },
      ticker: { secret },
    }),
    modules,
  )
})
afterAll(async () => {
  await gateway.close()
  slackApi.close()
})

type ThreadReport = Pick<NormalizedMessage, 'thread_id' | 'thread_source' | 'in_reply_to'> & {
  readonly past: readonly string[]
}

/** Returns the conversation of a message, and the agent's memory of it after the message. */
async function readThreadReport(id: string): Promise<ThreadReport> {
  const record = await eventually(async () => {
    const shownRecord = await gateway.readMessage(id)
    return shownRecord.state === 'answered' && shownRecord
  })
  const { thread_id, thread_source, in_reply_to } = record.message
  const past = JSON.parse(plainTextOf(record.response?.parts ?? [])) as string[]
  return { thread_id, thread_source, in_reply_to, past }
}

/** One person on a channel, who names a conversation in the channel's own way. */
interface Speaking {
  /** Sends a text. `threadName` is the id of another person's first message, or its conversation. */
  sendText(
    person: 'ann' | 'mallory',
    text: string,
    threadName?: string,
  ): Promise<{ readonly id: string; readonly name: string }>
}

let count = 0
const unique = (label: string) => `${label}-${++count}`

function sayByPost(field: 'context' | 'conversation' | 'inReplyTo'): Speaking['sendText'] {
  return async (person, text, threadName) => {
    const from = person === 'ann' ? 'alice@mastodon.test' : 'alice@gotosocial.test'
    const conversation = `https://mastodon.test/contexts/${unique('c')}`
    const threading = {
      context: { context: threadName ?? conversation },
      // The post has no context, because a context would take precedence.
      conversation: { context: '', conversation: threadName ?? conversation },
      inReplyTo: threadName === undefined ? {} : { inReplyTo: threadName },
    }[field]
    const plan = { to: '@desk@agents.test', from, text, visibility: 'direct' as const, ...threading }
    const { activityId, objectId } = await gateway.simulation.fediverse.deliver(plan)
    return { id: activityId, name: field === 'inReplyTo' ? objectId : (threadName ?? conversation) }
  }
}

function sayByMail(sign: boolean): Speaking['sendText'] {
  return async (person, text, threadName) => {
    const plan = { to: 'desk@agents.test', from: person === 'ann' ? 'alice@alice.test' : 'bob@nodmarc.test', text }
    const threading = threadName ? { inReplyTo: threadName, references: [threadName] } : {}
    const { mail } = await gateway.simulation.mail.deliver({
      ...plan,
      ...threading,
      ...(person === 'mallory' && { sign }),
    })
    const id = await findMail(mail.messageId, text)
    return { id, name: mail.messageId }
  }
}

/** Finds a mail by its digest, because no proof covers its id. */
async function findMail(messageId: string, text: string): Promise<string> {
  const message = await eventually(async () => (await gateway.messages()).find(({ preview }) => preview === text))
  return message.id === messageId ? messageId : message.id
}

async function sayByCall(person: 'ann' | 'mallory', text: string, threadName?: string) {
  const { a2a } = gateway.simulation
  const messageId = unique('call')
  const contextId = threadName ?? unique('context')
  await a2a.deliver({ url: `${gatewayOrigin}/agents/desk/a2a`, text, messageId, contextId, sub: person })
  return { id: messageId, name: contextId }
}

/** Uses the context that the gateway itself has given to the first caller. */
async function sayInGivenContext(person: 'ann' | 'mallory', text: string, threadName?: string) {
  const { a2a } = gateway.simulation
  const client = await a2a.client(
    `${gatewayOrigin}/agents/desk/.well-known/agent-card.json`,
    await a2a.token({ sub: person }),
  )
  const sendRequest = describeSendRequest(text, threadName === undefined ? {} : { contextId: threadName })
  const answer = await client.sendMessage(sendRequest)
  return { id: sendRequest.message?.messageId ?? '', name: answer.contextId ?? '' }
}

async function sayInChat(person: 'ann' | 'mallory', text: string, threadName?: string) {
  const [threadId, id] = [threadName ?? unique('order'), unique('msg')]
  const body = { threadId, runId: unique('run'), messages: [{ id, role: 'user', content: text }] }
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${tokenOf(person)}` }
  const url = `${gateway.url()}/api/v1/agent/runs`
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  await response.text()
  const message = await eventually(async () => (await gateway.messages()).find(({ preview }) => preview === text))
  return { id: message.id, name: threadId }
}

async function sayByTicker(person: 'ann' | 'mallory', text: string, threadName?: string) {
  const [id, thread] = [unique('slip'), threadName ?? unique('strip')]
  const slip = { id, text, thread, from: `@${person}@desk.test`, reply: 'https://desk.test/slips' }
  const body = JSON.stringify(slip)
  const seal = createHmac('sha256', secret).update(body).digest('hex')
  await fetch(`${gateway.url()}/ticker/desk`, { method: 'POST', headers: { 'x-seal': seal }, body })
  return { id, name: thread }
}

/** Sends a direct message, or a mention in a channel that only this person has. A stranger names the thread of another person's message. */
function sayInSlack(kind: 'direct' | 'mention'): Speaking['sendText'] {
  return async (person, text, threadName) => {
    const ts = `1700000000.${++count}`
    const user = person === 'ann' ? 'U1' : 'U2'
    const location = kind === 'direct' ? { channel: `D${user}`, channel_type: 'im' } : { channel: `C${user}` }
    const type = kind === 'direct' ? 'message' : 'app_mention'
    const thread = threadName === undefined ? {} : { thread_ts: threadName }
    const thread_ts = kind === 'direct' && threadName === undefined ? { thread_ts: ts } : thread
    const body = writeEvent({ type, user, ts, ...location, ...thread_ts, text: `<@${slackBot}> ${text}` })
    const headers = { 'content-type': 'application/json', ...signSlack(body) }
    await fetch(`${gateway.url()}/platforms/slack`, { method: 'POST', headers, body })
    return { id: `slack:${location.channel}:${ts}`, name: threadName ?? ts }
  }
}

const speaking: Readonly<Record<string, Speaking['sendText']>> = {
  'activitypub by context': sayByPost('context'),
  'activitypub by conversation': sayByPost('conversation'),
  'activitypub by inReplyTo': sayByPost('inReplyTo'),
  'email by References': sayByMail(true),
  'email by References, unproven': sayByMail(false),
  'a2a by contextId': sayByCall,
  'a2a by a contextId of the gateway': sayInGivenContext,
  'web by threadId': sayInChat,
  'slack by thread_ts, direct': sayInSlack('direct'),
  'slack by thread_ts, in a channel': sayInSlack('mention'),
  ticker: sayByTicker,
}

test('every channel has people in this test', () => {
  const channelNames = Object.keys(speaking).map(name => name.split(' ')[0])
  expect(new Set(channelNames)).toEqual(new Set(modules.map(({ descriptor }) => descriptor.name)))
})

describe.each(Object.entries(speaking))('the conversations by %s', (_, sendText) => {
  test('reveal nothing of an agent’s memory by thread_id to a person who names another’s conversation', async () => {
    const first = await sendText('ann', `${secretWords} ${unique('said')}`)
    const firstTold = await readThreadReport(first.id)
    const stranger = await sendText('mallory', `What is my number? ${unique('asked')}`, first.name)
    const strangerMessage = await readThreadReport(stranger.id)
    expect(strangerMessage.past).toHaveLength(1)
    expect(strangerMessage.thread_id).not.toBe(firstTold.thread_id)
    const secondMessage = await sendText('ann', `And now? ${unique('again')}`, first.name)
    const continued = await readThreadReport(secondMessage.id)
    expect(continued.past).toHaveLength(2)
    expect(continued.past[0]).toContain(secretWords)
    expect(continued.thread_id).toBe(firstTold.thread_id)
    for (const { thread_id } of [firstTold, strangerMessage]) {
      expect(thread_id).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/)
    }
  })
})

describe('a public conversation', () => {
  test('has one thread_id for its public messages, and another one for each participant’s private messages', async () => {
    const { fediverse } = gateway.simulation
    const context = `https://mastodon.test/contexts/${unique('c')}`
    const to = '@desk@agents.test'
    const sendMention = async (from: string, visibility: 'public' | 'direct') =>
      readThreadReport((await fediverse.deliver({ to, from, text: unique('said'), visibility, context })).activityId)
    const [firstThreadId, secondThreadId] = [
      await sendMention('alice@mastodon.test', 'public'),
      await sendMention('alice@gotosocial.test', 'public'),
    ]
    expect(secondThreadId).toMatchObject({ thread_id: firstThreadId.thread_id, thread_source: context })
    expect(secondThreadId.past).toHaveLength(2)
    const privateAnswer = await sendMention('alice@mastodon.test', 'direct')
    expect(privateAnswer.thread_id).not.toBe(firstThreadId.thread_id)
    expect(privateAnswer).toMatchObject({ thread_source: context, past: [expect.any(String)] })
  })
})

test('a message has the conversation’s protocol name beside its thread_id, which survives a restart', async () => {
  const first = await sayInChat('ann', unique('words'), 'order-77')
  const reportBefore = await readThreadReport(first.id)
  expect(reportBefore.thread_source).toBe('order-77')
  await gateway.restart()
  expect(await readThreadReport(first.id)).toEqual(reportBefore)
})
