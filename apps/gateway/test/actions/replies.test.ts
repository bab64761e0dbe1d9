import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PeopleChatGateway } from '../chat/chat-gateway.ts'
import { openPeopleChatGateway } from '../chat/chat-gateway.ts'
import { eventually } from '../setup/gateway.ts'

// These tests let an agent continue conversations unasked, each on its own channel: mail, fediverse and chat.

const teller = join(import.meta.dirname, '../agents/people/teller.ts')

let people: PeopleChatGateway

beforeAll(async () => {
  people = await openPeopleChatGateway({
    agents: { desk: { use: teller, people: { link: true } }, other: { use: join(teller, '../diary.ts') } },
    default_agent: 'desk',
    email: { listen: { port: 0, protocol: 'smtp' }, reply_all: true, write_to: ['correspondents'] },
  })
})
afterAll(() => people.close())

const threadOf = ({ text }: { readonly text: string }) => /thread[=":]+([\w-]+)/.exec(text)?.[1] ?? ''

/** Has somebody else ask the agent for it by mail. */
async function order(message: string): Promise<string> {
  const { text } = await people.askByMail(message, { from: 'eve@alice.test' })
  return text.replace(/\s+/g, ' ')
}

/** Makes one call over A2A, and returns the whole answer. */
async function callByA2a(method: string, params: object): Promise<string> {
  const { gateway } = people
  const response = await fetch(`${gateway.url()}/agents/desk/a2a`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'a2a-version': '1.0',
      authorization: `Bearer ${await gateway.simulation.a2a.token({ sub: 'carol' })}`,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return response.text()
}

test('a later mail of an agent continues the thread and appears in its history', async () => {
  const question = await people.askByMail('is my bicycle ready?')
  expect(await order(`tell ${threadOf(question)} It is ready now.`)).toMatch(/given=[0-9a-f]{32}/)
  const mail = await eventually(async () =>
    people.gateway.simulation.mail.received.find(({ text }) => text?.includes('It is ready now.')),
  )
  expect(mail.envelope.to).toEqual(['alice@alice.test'])
  expect(mail.headers.get('in-reply-to')).toEqual([`<${question.id}>`])
  expect(mail.headers.get('subject')).toEqual(['Re: hello'])
  const next = await people.askByMail('thank you', { inReplyTo: mail.messageId })
  expect(threadOf(next)).toBe(threadOf(question))
  expect(next.text.replace(/\s+/g, ' ')).toContain('last=')
  expect(next.text.replace(/\s+/g, ' ')).toContain('It is ready now.')
})

test('with reply_all a later mail goes to all recipients of the answer, and their replies join the thread', async () => {
  const { mail } = people.gateway.simulation
  const cc = ['carol@alice.test']
  const receipt = await mail.deliver({
    from: 'ida@alice.test',
    to: 'desk@agents.test',
    cc,
    text: 'is our tandem ready?',
  })
  const { text } = await mail.awaitReply(receipt.mail.messageId, 30_000)
  const thread = threadOf({ text: text ?? '' })
  expect(await order(`tell ${thread} The tandem is ready.`)).toMatch(/given=[0-9a-f]{32}/)
  const copies = await eventually(async () => {
    const mails = mail.received.filter(receivedMail => receivedMail.text?.includes('The tandem is ready.'))
    return mails.length === 2 && mails
  })
  expect(copies.flatMap(({ envelope }) => envelope.to).toSorted()).toEqual(['carol@alice.test', 'ida@alice.test'])
  const inReplyTo = copies[0]?.messageId
  const next = await mail.deliver({ from: 'ida@alice.test', to: 'desk@agents.test', cc, text: 'thank you', inReplyTo })
  expect(threadOf({ text: (await mail.awaitReply(next.mail.messageId, 30_000)).text ?? '' })).toBe(thread)
})

test('an A2A caller without push notifications gets no later message, and the refusal says what to do', async () => {
  const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'is my van ready?' }] }
  const query = await callByA2a('SendMessage', { message })
  const taskId = /"task":\{"id":"([^"]+)"/.exec(query)?.[1]
  const thread = threadOf({ text: query })
  const refusal = await order(`tell ${thread} The van is ready.`)
  expect(refusal).toContain('given=no_recipient')
  expect(refusal).toContain(`the caller has set no push notification for the task ${taskId}`)
  expect(refusal).toContain('Answer when they ask again, or ask them to set one')
  const url = 'https://mastodon.test/push'
  expect(await callByA2a('CreateTaskPushNotificationConfig', { taskId, url })).not.toContain('error')
  expect(await order(`tell ${thread} The van is ready.`)).toMatch(/given=[0-9a-f]{32}/)
})

test('a later post of an agent replies to the last post of its conversation', async () => {
  const secondQuestion = await people.askByPost('and my other one?')
  const reply = await order(`tell ${threadOf(secondQuestion)} That one, too.`)
  expect(reply).toMatch(/given=[0-9a-f]{32}/)
  const note = await eventually(async () =>
    people.gateway.simulation.fediverse.received
      .map(({ activity }) => activity.object as { content?: string; inReplyTo?: string; to?: string[] } | undefined)
      .find(object => object?.content?.includes('That one, too.')),
  )
  expect(note.to).toEqual(['https://mastodon.test/users/alice'])
  expect(secondQuestion.id).toContain(note.inReplyTo ?? 'nothing')
})

test('a later message of an agent appears in the history of a chat', async () => {
  const { text } = await people.chat('hello', { threadId: 'chat-1' })
  expect(await order(`tell ${threadOf({ text })} The shop closes early.`)).toMatch(/given=[0-9a-f]{32}/)
  expect(await (await people.history('chat-1')).text()).toContain('The shop closes early.')
})

test('a mail conversation continued in the chat shows a later message in both, once', async () => {
  const thirdQuestion = await people.askByMail('is my trailer ready?', { from: 'hal@alice.test' })
  await people.linkMailbox('hal@alice.test')
  const threadId = (await people.threads()).find(({ via }) => via === 'email')?.threadId ?? ''
  await people.chat('it is urgent', { threadId })
  expect(await order(`tell ${threadOf(thirdQuestion)} The trailer is ready.`)).toMatch(/given=[0-9a-f]{32}/)
  const mails = await eventually(async () => {
    const mails = people.gateway.simulation.mail.received.filter(({ text }) => text?.includes('The trailer is ready.'))
    return mails.length > 0 && mails
  })
  expect(mails.map(({ envelope }) => envelope.to)).toEqual([['hal@alice.test']])
  expect((await people.read(threadId)).map(({ content }) => content)).toContain('The trailer is ready.')
})

test('an agent cannot write in conversations of another agent or an unproven sender, nor in unknown ones', async () => {
  const otherAgentMail = await people.askByMail('hello', { to: 'other' })
  for (const thread of [threadOf(otherAgentMail), '0b22717b-b192-44b6-a9a7-114ad5fbaac9']) {
    expect(await order(`tell ${thread} Nothing.`)).toContain('given=no_recipient')
  }
  const unproven = await people.askByMail('hello', { from: 'fay@nodmarc.test', sign: false })
  const refusal = await order(`tell ${threadOf(unproven)} Nothing.`)
  expect(refusal).toMatch(/given=forbidden email\.write_to/)
  expect(JSON.stringify(people.gateway.simulation.mail.received.map(({ text }) => text))).not.toContain('Nothing.')
})

test('an agent may begin a mail to correspondents, but not to strangers', async () => {
  await people.askByMail('hello', { from: 'gus@alice.test' })
  expect(await order('mail gus@alice.test Spring sale')).toMatch(/given=[0-9a-f]{32}/)
  await eventually(async () =>
    people.gateway.simulation.mail.received.find(
      ({ envelope, text }) => envelope.to.includes('gus@alice.test') && text?.includes('Spring sale'),
    ),
  )
  const refusal = await order('mail stranger@alice.test Spring sale')
  expect(refusal).toContain('given=forbidden email.write_to_days')
  expect(refusal).toContain('within 30 days (email.write_to_days)')
})
