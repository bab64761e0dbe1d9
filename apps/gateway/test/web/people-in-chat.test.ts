import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, operatorToken } from '../house.ts'
import { readConfided } from '../people-house.ts'
import type { ChatHouse } from './chat-house.ts'
import { name, openChatHouse } from './chat-house.ts'

// docs/people.md: the gateway's commands for people in a chat.

let house: ChatHouse

beforeAll(async () => {
  house = await openChatHouse()
})
afterAll(() => house.close())

describe('a person who chats', () => {
  test('links a mailbox by a code that is mailed and comes back by the chat', async () => {
    const { client, text } = await house.chat('link ann@alice.test')
    expect(text).toBe(
      'I have sent a code to ann@alice.test. Write it to me here within 15 minutes: "confirm" and the code.',
    )
    const code = await house.mailedCode('ann@alice.test')
    const mail = house.house.world.mail.received.find(({ text }) => text?.includes('confirm '))
    expect(mail?.text).toContain('@ann@web.agents.test says that this address belongs to the same person')
    expect(mail?.text?.replace(/\s+/g, ' ')).toContain('If that was you, write this in the chat where you asked')
    const confirmed = await house.chat(`confirm ${code}`, { client })
    expect(confirmed.text).toContain('Done: ann@alice.test is linked with this address.')
    expect((await house.chat('linked', { client })).text).toBe('Linked with this address: ann@alice.test.')
  })

  test('finds commands and answers in his chat again, and no agent is told of them', async () => {
    const { client, text } = await house.chat('hello', { threadId: name('plain') })
    expect(readConfided(text).past).toEqual([])
    await house.chat('linked', { client })
    expect(readConfided((await house.chat('and now?', { client })).text).past).toEqual(['web: hello'])
    const shown = await house.read(client.threadId)
    expect(shown.map(({ content }) => content)).toContain('Linked with this address: ann@alice.test.')
    expect(shown.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6])
    expect(shown[3]?.metadata).toMatchObject({ stage: 'gateway' })
  })

  test('is known by mail from then on, and by mail is known what he says in a chat', async () => {
    const answer = readConfided((await house.write('from my mailbox', { from: 'ann@alice.test' })).text)
    expect(answer.past).toContain('web: hello')
    expect(answer.knows).toEqual(['email @ann@alice.test', 'web @ann@web.agents.test'])
  })

  test('cannot be linked from a mailbox: nothing can be sent to a chat', async () => {
    const { text } = await house.write('link @bob@web.agents.test', { from: 'eve@alice.test' })
    expect(text).toContain('Nothing can be sent to a chat. Ask there')
  })

  test('is unlinked from the mailbox by the address that "linked" shows', async () => {
    expect((await house.write('linked', { from: 'ann@alice.test' })).text).toContain('@ann@web.agents.test')
    const { text } = await house.write('unlink @ann@web.agents.test', { from: 'ann@alice.test' })
    expect(text).toContain('Done: @ann@web.agents.test is not linked with this address any more.')
    expect((await house.chat('linked')).text).toBe('No other address is linked with this one.')
  })

  test('guesses no code: five wrong ones end it, and another person’s chat does not count', async () => {
    await house.chat('link victim@alice.test', { as: 'bob' })
    const code = await house.mailedCode('victim@alice.test')
    expect((await house.chat(`confirm ${code}`)).text).toContain('There is no code to wait for')
    for (let left = 4; left >= 0; left -= 1) await house.chat('confirm AAAAA-AAAAA', { as: 'bob' })
    expect((await house.chat(`confirm ${code}`, { as: 'bob' })).text).toContain('There is no code to wait for')
  })

  test('with an agent that links nobody, commands go to the agent', async () => {
    expect(readConfided((await house.chat('linked', { agent: 'plain' })).text)).toBeDefined()
  })
})

describe('"forget me" in a chat', () => {
  test('forgets chats, what began elsewhere, files and sessions, and the other address with them', async () => {
    const mailbox = { from: 'bob@alice.test' }
    await house.linkMailbox('bob@alice.test', { as: 'bob' })
    const { client } = await house.chat('keep this in mind', { as: 'bob' })
    await house.write('and this', mailbox)
    const other = await house.chat('for another agent', { as: 'bob', agent: 'plain' })
    const upload = await uploadAs('bob')
    const session = await house.call('/v1/sessions', { as: 'bob', method: 'POST', body: '{"title":"notes"}' })
    expect([upload.status, session.status]).toEqual([200, 200])
    expect((await house.threads('bob')).map(({ via }) => via)).toContain('email')

    const last = await house.chat('forget me', { as: 'bob' })
    expect(last.text).toMatch(/forgotten|deleted/i)
    expect(await house.threads('bob')).toEqual([])
    expect(await house.read(last.client.threadId, 'bob')).toHaveLength(2)
    expect((await house.history(client.threadId, 'bob')).status).toBe(404)
    expect(await (await house.call('/v1/sessions', { as: 'bob' })).json()).toMatchObject({ sessions: [] })
    const { bucket, path } = (await upload.json()) as { bucket: string; path: string }
    const query = new URLSearchParams({ bucket, path })
    expect((await house.call(`/api/v1/agent/attachments/signed-url?${query}`, { as: 'bob' })).status).toBe(404)
    expect(readConfided((await house.write('who am I?', mailbox)).text)).toEqual({ past: [], kept: [], knows: [] })
    const left = (await house.house.messages()).map(({ sender }) => sender)
    expect(left.filter(sender => sender.includes('bob@alice.test'))).toHaveLength(1)
    expect(left.filter(sender => sender === '@bob@web.agents.test')).toHaveLength(2)
    expect(await house.read(other.client.threadId, 'bob', 'plain')).toHaveLength(2)
  })

  test('said by mail, it takes the chats of the same person with it', async () => {
    await house.linkMailbox('ann2@alice.test')
    const { client } = await house.chat('a secret in a chat')
    await house.write('forget me', { from: 'ann2@alice.test' })
    expect((await house.history(client.threadId)).status).toBe(404)
    await eventually(async () => (await house.threads()).length === 0)
  })
})

test('who is forgotten by the operator, by the key of his chats, is linked with nobody any more', async () => {
  await house.linkMailbox('ann3@alice.test')
  const headers = { authorization: `Bearer ${operatorToken}` }
  const body = JSON.stringify({ owner: 'web:["https://agents.test","ann"]' })
  const answer = await fetch(`${house.house.url()}/operator/api/owners/forget`, { method: 'POST', headers, body })
  expect(await answer.json()).toMatchObject({ links: 1 })
  expect((await house.write('linked', { from: 'ann3@alice.test' })).text).toContain('No other address is linked')
})

function uploadAs(as: 'bob'): Promise<Response> {
  const form = new FormData()
  form.set('file', new File([Buffer.from('ffd8ffe000104a46494600010100000100010000ffd9', 'hex')], 'img.jpg'))
  form.set('threadId', name('thread'))
  const headers = { authorization: `Bearer token-of-${as}-for-the-tests` }
  return fetch(`${house.house.url()}/api/v1/agent/attachments`, { method: 'POST', headers, body: form })
}
