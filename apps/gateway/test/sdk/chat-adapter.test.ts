import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMemoryState } from '@chat-adapter/state-memory'
import { getRequestListener } from '@hono/node-server'
import { createPosternAdapter } from '@postern/chat-adapter-postern'
import type { Attachment, Message, Thread } from 'chat'
import { Chat } from 'chat'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { StartedGateway } from '../../src/testing/index.ts'
import { startGateway } from '../../src/testing/index.ts'

// These tests run a bot of the real Chat SDK behind a running gateway, which sends it signed messages.

const secret = 'whsec_c2hhcmVkIHNlY3JldCBvZiBib3RoIHNpZGVz'
const folder = mkdtempSync(join(tmpdir(), 'postern-chat-'))
const threads: Thread[] = []
let gateway: StartedGateway
let bot: Chat
let failedRuns = 0

const server = createServer(getRequestListener(request => bot.webhooks.postern?.(request) ?? new Response()))

async function answer(thread: Thread, message: Message): Promise<void> {
  threads.push(thread)
  const [command] = message.text.split(' ')
  if (command === 'stream') await thread.post(streamWords())
  else if (command === 'edit') await (await thread.post('wrong')).edit('**right**')
  else if (command === 'file') {
    await thread.post({
      markdown: 'here',
      files: [{ data: Buffer.from('hi'), filename: 'a.txt', mimeType: 'text/plain' }],
    })
  } else if (command === 'read') {
    const readAttachment = ({ url, fetchData }: Attachment) => (fetchData ? fetchData() : url)
    await thread.post((await Promise.all(message.attachments.map(readAttachment))).join(' '))
  } else if (command === 'nothing') return
  else if (command === 'fail') {
    failedRuns += 1
    if (failedRuns === 1) throw new Error('as asked')
    await thread.post('at the second try')
  } else await thread.post({ markdown: `*heard* ${message.text} from ${message.author.userId}` })
}

async function* streamWords() {
  for (const word of ['one ', 'two ', 'three']) yield word
}

beforeAll(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const delivery = { retry_after: 0.2 }
  const a2a = { auth: { anonymous: true } }
  const settings = { agents: { bot: { use: 'webhook', url, secret } }, delivery, a2a } as const
  gateway = await startGateway({ folder, settings, log: 'silent' })
  const operator = { url: gateway.url, token: gateway.token }
  const adapters = { postern: createPosternAdapter({ secret, operator }) }
  bot = new Chat({ userName: 'bot', adapters, state: createMemoryState(), logger: 'silent' })
  bot.onNewMention(async (thread, message) => {
    await thread.subscribe()
    await answer(thread, message)
  })
  bot.onSubscribedMessage(async (thread, message) => {
    await answer(thread, message)
    const texts: string[] = []
    for await (const threadMessage of thread.allMessages) texts.push(threadMessage.text)
    await thread.post(`known: ${texts.length}`)
  })
}, 60_000)
afterAll(async () => {
  await gateway?.stop()
  await bot?.shutdown()
  server.closeAllConnections()
  server.close()
  rmSync(folder, { recursive: true, force: true })
})

const sendText = async (text: string, via: 'activitypub' | 'a2a' | 'email' = 'a2a') =>
  (await gateway.send({ via, to: 'bot', text })).reply?.text

describe('a bot of Chat SDK', () => {
  test.each([
    ['activitypub', '@alice@mastodon.test'],
    ['email', 'alice@alice.test'],
    ['a2a', ''],
  ] as const)('answers a message over %s, and receives the proven address of its sender', async (via, address) => {
    const reply = await sendText('hello', via)
    expect(reply).toMatch(/heard\W* hello from/)
    expect(reply).toContain(address)
    expect(reply).not.toContain('unverified')
  })

  test('gets the next message of a thread that it follows, with the earlier messages', async () => {
    const first = await gateway.send({ via: 'email', to: 'bot', text: 'hello' })
    const { reply } = await gateway.send({ via: 'email', to: 'bot', text: 'and now', thread: first.thread })
    expect(reply?.text).toMatch(/heard\W* and now/)
    expect(reply?.text).toMatch(/known: [3-9]/)
  })

  test.each([
    ['stream', /^one two three$/],
    ['edit', /^\*\*right\*\*$/],
    ['file', /^here/],
  ])('answers with the final state of its post: %s', async (text, pattern) => {
    expect(await sendText(text)).toMatch(pattern)
  })

  test('sends no answer if it says nothing', async () => {
    expect(await sendText('nothing')).toBeUndefined()
  })

  test('gets the message again when its handler fails', async () => {
    expect(await sendText('fail')).toMatch(/^at the second try/)
  })

  test('reads a file from the gateway, and not from the peer’s URL', async () => {
    const parts = [{ text: 'read' }, { raw: 'aGk=', filename: 'a.txt' }, { url: 'https://127.0.0.1:9/' }]
    const message = { messageId: 'read-1', role: 'ROLE_USER', parts }
    const response = await fetch(`${gateway.url}/agents/bot/a2a/rest/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({ message }),
    })
    expect(await response.text()).toContain('hi https://127.0.0.1:9/')
  })

  test('writes to a person later, besides any answer', async () => {
    await sendText('hello', 'activitypub')
    const sentMessage = await threads.at(-1)?.post('one more thing')
    expect(sentMessage?.id).toMatch(/^[0-9a-f]{32}$/)
    const readDeliveries = async () => {
      const headers = { authorization: `Bearer ${gateway.token}` }
      return (await fetch(`${gateway.url}/operator/api/deliveries?limit=5`, { headers })).text()
    }
    await vi.waitFor(async () => expect(await readDeliveries()).toContain('one more thing'))
  })
})

test.each([' ', 'whsec_', 'whsec_%%%'])('the adapter refuses to start with the secret %j', invalidSecret => {
  expect(() => createPosternAdapter({ secret: invalidSecret })).toThrow(
    'The secret of the webhook agent must be some text, or "whsec_" followed by base64',
  )
})

test.each([
  [-310, true],
  [-290, false],
  [290, false],
  [310, true],
])('the adapter accepts a valid signature only within five minutes: at %i s', async (shiftSeconds, isRefused) => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const [timestamp, body] = [String(Math.trunc(Date.now() / 1000) + shiftSeconds), '{}']
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const digest = createHmac('sha256', key).update(`1.${timestamp}.${body}`).digest('base64')
  const headers = { 'webhook-id': '1', 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${digest}` }
  const { status } = await fetch(url, { method: 'POST', headers, body })
  expect(status === 401).toBe(isRefused)
})

test('the adapter accepts only the scheme v1, even with valid bytes', async () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const [timestamp, body] = [String(Math.trunc(Date.now() / 1000)), '{}']
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const digest = createHmac('sha256', key).update(`1.${timestamp}.${body}`).digest('base64')
  for (const signature of [`v2,${digest}`, digest, `v1a,${digest}`]) {
    const headers = { 'webhook-id': '1', 'webhook-timestamp': timestamp, 'webhook-signature': signature }
    expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(401)
  }
})

test.each([
  ['no signature', {}],
  [
    'a signature of another secret',
    { 'webhook-signature': 'v1,AAAA', 'webhook-timestamp': String(Math.trunc(Date.now() / 1000)) },
  ],
  ['an old signature', { 'webhook-signature': 'v1,AAAA', 'webhook-timestamp': '1000000000' }],
])('the adapter refuses a request with %s', async (_, headers) => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const refusal = await fetch(url, { method: 'POST', headers: { 'webhook-id': '1', ...headers }, body: '{}' })
  expect(refusal.status).toBe(401)
})
