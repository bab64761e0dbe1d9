import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { createDkimKey, keyRecord, signText } from '../setup/sign.ts'

let gateway: MailGateway
beforeAll(async () => {
  gateway = await openMailGateway({ runsAgents: true })
})
afterAll(() => gateway.close())

const from = { verified: 'Alice <alice@alice.test>', unverified: 'Bob <bob@nodmarc.test>' }

async function waitUntilAnswered(id: string): Promise<void> {
  const completion = Promise.withResolvers<void>()
  const check = async () => {
    const record = await gateway.store.findMessage(id)
    if (record?.deliveries.some(({ state }) => state === 'sent')) completion.resolve()
  }
  const timer = setInterval(check, 20)
  await completion.promise
  clearInterval(timer)
}

test('a reply to an answer continues the thread with its history (EM-4.2)', async () => {
  const { mail } = await gateway.postMail({ from: from.verified, text: 'One' })
  const reply = await gateway.simulation.mail.awaitReply(mail.messageId, 30_000)
  await waitUntilAnswered(mail.messageId)
  const nextMail = await gateway.postMail({
    from: from.verified,
    subject: 'Re: Hello',
    text: 'Two\n\nOn Saturday, Echo wrote:\n> One\n',
    inReplyTo: reply.messageId,
    references: [reply.messageId ?? ''],
  })
  await gateway.simulation.mail.awaitReply(nextMail.mail.messageId, 30_000)
  const message = gateway.receivedMessages.find(({ id }) => id === nextMail.mail.messageId)
  expect(message?.thread_source).toBe(mail.messageId)
  expect(message?.in_reply_to).toBe(reply.messageId)
  expect(message?.parts).toMatchObject([
    { kind: 'text', mime: 'text/plain', content: 'Two' },
    { kind: 'artifact', artifact_type: 'email.full_text', mime: 'text/plain' },
    { kind: 'email', subject: expect.stringMatching(/./) },
  ])
  expect(message?.history?.map(({ role }) => role)).toEqual(['user', 'assistant'])
})

test('the first id of References names the thread of a message within it', async () => {
  const { mail } = await gateway.postMail({
    from: from.verified,
    references: ['root@alice.test', 'next@alice.test'],
    inReplyTo: 'next@alice.test',
  })
  const record = await gateway.store.findMessage(mail.messageId)
  expect(record?.message).toMatchObject({ thread_source: 'root@alice.test', in_reply_to: 'next@alice.test' })
})

test('an unproven author never joins a proven author’s thread, with any ids', async () => {
  const { mail } = await gateway.postMail({ from: from.verified, text: 'A secret plan' })
  await waitUntilAnswered(mail.messageId)
  // The same author is unproven here. The envelope of another host and a domain without policy would otherwise admit the mail.
  const forgedMail = await gateway.postMail({
    from: from.unverified,
    sign: false,
    text: 'What did we say?',
    inReplyTo: mail.messageId,
    references: [mail.messageId],
  })
  await waitUntilAnswered(forgedMail.mail.messageId)
  const message = gateway.receivedMessages.find(({ id }) => id === forgedMail.mail.messageId)
  expect(message?.history ?? []).toEqual([])
})

test('an unproven mail of an author has a separate thread from their proven mail', async () => {
  const provenMail = await gateway.postMail({ from: from.unverified, text: 'Proven' })
  await waitUntilAnswered(provenMail.mail.messageId)
  const unprovenMail = await gateway.postMail({
    from: from.unverified,
    sign: false,
    text: 'Unproven',
    inReplyTo: provenMail.mail.messageId,
  })
  await waitUntilAnswered(unprovenMail.mail.messageId)
  expect((await gateway.store.findMessage(provenMail.mail.messageId))?.message.sender.verified).toBe(true)
  expect(gateway.receivedMessages.find(({ id }) => id === unprovenMail.mail.messageId)?.history ?? []).toEqual([])
})

test("Outlook's signed Thread-Index joins two messages without references", async () => {
  const key = createDkimKey(2048)
  gateway.simulation.dns.set('index._domainkey.alice.test', { TXT: [keyRecord(key)] })
  const fields = ['from', 'to', 'subject', 'date', 'message-id', 'thread-index']
  const postWithIndex = async (name: string, index: Buffer) => {
    const lines = [
      ...[`From: ${from.verified}`, `To: echo@${mailDomain}`, 'Subject: Plans', `Date: ${new Date().toUTCString()}`],
      ...[`Message-ID: <${name}@alice.test>`, 'Thread-Topic: Plans', `Thread-Index: ${index.toString('base64')}`],
    ]
    const message = `${lines.join('\r\n')}\r\n\r\n${name}\r\n`
    await gateway.post(signText(message, { domain: 'alice.test', selector: 'index', key, fields }))
    await waitUntilAnswered(`${name}@alice.test`)
    return gateway.store.findMessage(`${name}@alice.test`)
  }
  const guid = Buffer.concat([Buffer.alloc(6, 1), Buffer.alloc(16, 7)])
  const firstMessage = await postWithIndex('index-one', guid)
  const secondMessage = await postWithIndex('index-two', Buffer.concat([guid, Buffer.alloc(5, 9)]))
  const reply = await gateway.simulation.mail.awaitReply('index-one@alice.test', 30_000)
  expect(reply.headers.get('thread-topic')).toEqual(['Plans'])
  expect(secondMessage?.thread).toBe(firstMessage?.thread)
  expect(gateway.receivedMessages.find(({ id }) => id === 'index-two@alice.test')?.history).toHaveLength(2)
})

test('the address tag returns in Reply-To', async () => {
  const { mail } = await gateway.postMail({ from: from.verified, to: `echo+case-42@${mailDomain}` })
  const reply = await gateway.simulation.mail.awaitReply(mail.messageId, 30_000)
  expect(reply.headers.get('reply-to')?.[0]).toMatch(/^echo\+case-42\+r\.[0-9a-f]{32}@agents\.test$/)
})

test('the answer goes to the Reply-To of a proven domain, but not to a Reply-To of another domain (EM-32, EM-4.5)', async () => {
  const ownReplyTo = await gateway.postMail({ from: from.verified, headers: { 'Reply-To': 'team@alice.test' } })
  expect((await gateway.simulation.mail.awaitReply(ownReplyTo.mail.messageId, 30_000)).envelope.to).toEqual([
    'team@alice.test',
  ])
  const otherReplyTo = await gateway.postMail({ from: from.verified, headers: { 'Reply-To': 'thief@evil.test' } })
  expect((await gateway.simulation.mail.awaitReply(otherReplyTo.mail.messageId, 30_000)).envelope.to).toEqual([
    'alice@alice.test',
  ])
})
