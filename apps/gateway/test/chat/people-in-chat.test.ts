import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, operatorToken } from '../setup/gateway.ts'
import { readConfided } from '../setup/people-gateway.ts'
import { uniqueName } from '../setup/web-gateway.ts'
import type { PeopleChatGateway } from './chat-gateway.ts'
import { openPeopleChatGateway } from './chat-gateway.ts'

// These tests follow docs/guides/people.md: the gateway's commands for people in a chat.

let gateway: PeopleChatGateway

beforeAll(async () => {
  gateway = await openPeopleChatGateway()
})
afterAll(() => gateway.close())

describe('a person who chats', () => {
  test('links a mailbox with a code that arrives by mail and returns in the chat', async () => {
    const { client, text } = await gateway.chat('link ann@alice.test')
    expect(text).toBe(
      'I have sent a code to ann@alice.test. Write it to me here within 15 minutes: "confirm" and the code.',
    )
    const code = await gateway.mailedCode('ann@alice.test')
    const mail = gateway.gateway.simulation.mail.received.find(({ text }) => text?.includes('confirm '))
    expect(mail?.text).toContain('@ann@web.agents.test says that this address belongs to the same person')
    expect(mail?.text?.replace(/\s+/g, ' ')).toContain('If that was you, write this in the chat where you asked')
    const confirmed = await gateway.chat(`confirm ${code}`, { client })
    expect(confirmed.text).toContain('Done: ann@alice.test is linked with this address.')
    expect((await gateway.chat('linked', { client })).text).toBe('Linked with this address: ann@alice.test.')
  })

  test('finds commands and answers in the chat history, which no agent sees', async () => {
    const { client, text } = await gateway.chat('hello', { threadId: uniqueName('plain') })
    expect(readConfided(text).past).toEqual([])
    await gateway.chat('linked', { client })
    expect(readConfided((await gateway.chat('and now?', { client })).text).past).toEqual(['web: hello'])
    const messages = await gateway.read(client.threadId)
    expect(messages.map(({ content }) => content)).toContain('Linked with this address: ann@alice.test.')
    expect(messages.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6])
    expect(messages[3]?.metadata).toMatchObject({ stage: 'gateway' })
  })

  test('is the same person by mail after the link, with their chat messages', async () => {
    const answer = readConfided((await gateway.askByMail('from my mailbox', { from: 'ann@alice.test' })).text)
    expect(answer.past).toContain('web: hello')
    expect(answer.knows).toEqual(['email @ann@alice.test', 'web @ann@web.agents.test'])
  })

  test('cannot link from a mailbox, since mail cannot reach a chat', async () => {
    const { text } = await gateway.askByMail('link @bob@web.agents.test', { from: 'eve@alice.test' })
    expect(text).toContain('Nothing can be sent to a chat. Ask there')
  })

  test('can remove the link by mail, with the address that "linked" shows', async () => {
    expect((await gateway.askByMail('linked', { from: 'ann@alice.test' })).text).toContain('@ann@web.agents.test')
    const { text } = await gateway.askByMail('unlink @ann@web.agents.test', { from: 'ann@alice.test' })
    expect(text).toContain('Done: @ann@web.agents.test is not linked with this address any more.')
    expect((await gateway.chat('linked')).text).toBe('No other address is linked with this one.')
  })

  test('cannot guess a code: it ends after five wrong tries, and another person’s chat does not count', async () => {
    await gateway.chat('link victim@alice.test', { as: 'bob' })
    const code = await gateway.mailedCode('victim@alice.test')
    expect((await gateway.chat(`confirm ${code}`)).text).toContain('There is no code to wait for')
    for (let attemptsLeft = 4; attemptsLeft >= 0; attemptsLeft -= 1)
      await gateway.chat('confirm AAAAA-AAAAA', { as: 'bob' })
    expect((await gateway.chat(`confirm ${code}`, { as: 'bob' })).text).toContain('There is no code to wait for')
  })

  test('sends commands to the agent if the agent has no links', async () => {
    expect(readConfided((await gateway.chat('linked', { agent: 'plain' })).text)).toBeDefined()
  })
})

describe('"forget me" in a chat', () => {
  test('deletes chats, linked conversations, files and sessions, and the linked address too', async () => {
    const mailbox = { from: 'bob@alice.test' }
    await gateway.linkMailbox('bob@alice.test', { as: 'bob' })
    const { client } = await gateway.chat('keep this in mind', { as: 'bob' })
    await gateway.askByMail('and this', mailbox)
    const otherChat = await gateway.chat('for another agent', { as: 'bob', agent: 'plain' })
    const upload = await uploadAs('bob')
    const session = await gateway.requestAs('/v1/sessions', { as: 'bob', method: 'POST', body: '{"title":"notes"}' })
    expect([upload.status, session.status]).toEqual([200, 200])
    expect((await gateway.threads('bob')).map(({ via }) => via)).toContain('email')

    const last = await gateway.chat('forget me', { as: 'bob' })
    expect(last.text).toMatch(/forgotten|deleted/i)
    expect(await gateway.threads('bob')).toEqual([])
    expect(await gateway.read(last.client.threadId, 'bob')).toHaveLength(2)
    expect((await gateway.history(client.threadId, 'bob')).status).toBe(404)
    expect(await (await gateway.requestAs('/v1/sessions', { as: 'bob' })).json()).toMatchObject({ sessions: [] })
    const { bucket, path } = (await upload.json()) as { bucket: string; path: string }
    const query = new URLSearchParams({ bucket, path })
    expect((await gateway.requestAs(`/api/v1/agent/attachments/signed-url?${query}`, { as: 'bob' })).status).toBe(404)
    expect(readConfided((await gateway.askByMail('who am I?', mailbox)).text)).toEqual({
      past: [],
      storedTexts: [],
      knows: [],
    })
    const remainingSenders = (await gateway.gateway.messages()).map(({ sender }) => sender)
    expect(remainingSenders.filter(sender => sender.includes('bob@alice.test'))).toHaveLength(1)
    expect(remainingSenders.filter(sender => sender === '@bob@web.agents.test')).toHaveLength(2)
    expect(await gateway.read(otherChat.client.threadId, 'bob', 'plain')).toHaveLength(2)
  })

  test('by mail deletes the chats of the same person', async () => {
    await gateway.linkMailbox('ann2@alice.test')
    const { client } = await gateway.chat('a secret in a chat')
    await gateway.askByMail('forget me', { from: 'ann2@alice.test' })
    expect((await gateway.history(client.threadId)).status).toBe(404)
    await eventually(async () => (await gateway.threads()).length === 0)
  })
})

test('the operator forgets a person by the key of their chats, and their links end', async () => {
  await gateway.linkMailbox('ann3@alice.test')
  const headers = { authorization: `Bearer ${operatorToken}` }
  const body = JSON.stringify({ owner: 'web:["https://agents.test","ann"]' })
  const response = await fetch(`${gateway.gateway.url()}/operator/api/owners/forget`, { method: 'POST', headers, body })
  expect(await response.json()).toMatchObject({ links: 1 })
  expect((await gateway.askByMail('linked', { from: 'ann3@alice.test' })).text).toContain('No other address is linked')
})

function uploadAs(as: 'bob'): Promise<Response> {
  const form = new FormData()
  form.set('file', new File([Buffer.from('ffd8ffe000104a46494600010100000100010000ffd9', 'hex')], 'img.jpg'))
  form.set('threadId', uniqueName('thread'))
  const headers = { authorization: `Bearer token-of-${as}-for-the-tests` }
  return fetch(`${gateway.gateway.url()}/api/v1/agent/attachments`, { method: 'POST', headers, body: form })
}
