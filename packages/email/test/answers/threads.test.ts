import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { keyRecord, makeDkimKey, signText } from '../setup/sign.ts'

let gateway: MailGateway
beforeAll(async () => {
  gateway = await openMailGateway({ works: true })
})
afterAll(() => gateway.close())

const from = { verified: 'Alice <alice@alice.test>', unverified: 'Bob <bob@nodmarc.test>' }

async function settle(id: string): Promise<void> {
  const completion = Promise.withResolvers<void>()
  const check = async () => {
    const record = await gateway.store.findMessage(id)
    if (record?.deliveries.some(({ state }) => state === 'sent')) completion.resolve()
  }
  const timer = setInterval(check, 20)
  await completion.promise
  clearInterval(timer)
}

test('an answer to our answer continues the thread with its history (EM-4.2)', async () => {
  const { mail } = await gateway.postMail({ from: from.verified, text: 'One' })
  const reply = await gateway.simulation.mail.awaitReply(mail.messageId, 30_000)
  await settle(mail.messageId)
  const next = await gateway.postMail({
    from: from.verified,
    subject: 'Re: Hello',
    text: 'Two\n\nOn Saturday, Echo wrote:\n> One\n',
    inReplyTo: reply.messageId,
    references: [reply.messageId ?? ''],
  })
  await gateway.simulation.mail.awaitReply(next.mail.messageId, 30_000)
  const message = gateway.receivedMessages.find(({ id }) => id === next.mail.messageId)
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
  await settle(mail.messageId)
  // The same author is unproven here. The envelope of another host and a domain without policy would otherwise admit the mail.
  const forgedMail = await gateway.postMail({
    from: from.unverified,
    sign: false,
    text: 'What did we say?',
    inReplyTo: mail.messageId,
    references: [mail.messageId],
  })
  await settle(forgedMail.mail.messageId)
  const message = gateway.receivedMessages.find(({ id }) => id === forgedMail.mail.messageId)
  expect(message?.history ?? []).toEqual([])
})

test('an unproven mail of an author has a separate thread from their proven mail', async () => {
  const first = await gateway.postMail({ from: from.unverified, text: 'Proven' })
  await settle(first.mail.messageId)
  const second = await gateway.postMail({
    from: from.unverified,
    sign: false,
    text: 'Unproven',
    inReplyTo: first.mail.messageId,
  })
  await settle(second.mail.messageId)
  expect((await gateway.store.findMessage(first.mail.messageId))?.message.sender.verified).toBe(true)
  expect(gateway.receivedMessages.find(({ id }) => id === second.mail.messageId)?.history ?? []).toEqual([])
})

test("Outlook's signed Thread-Index joins two messages without references", async () => {
  const key = makeDkimKey(2048)
  gateway.simulation.dns.set('index._domainkey.alice.test', { TXT: [keyRecord(key)] })
  const fields = ['from', 'to', 'subject', 'date', 'message-id', 'thread-index']
  const postWithIndex = async (name: string, index: Buffer) => {
    const lines = [
      ...[`From: ${from.verified}`, `To: echo@${mailDomain}`, 'Subject: Plans', `Date: ${new Date().toUTCString()}`],
      ...[`Message-ID: <${name}@alice.test>`, 'Thread-Topic: Plans', `Thread-Index: ${index.toString('base64')}`],
    ]
    const message = `${lines.join('\r\n')}\r\n\r\n${name}\r\n`
    await gateway.post(signText(message, { domain: 'alice.test', selector: 'index', key, fields }))
    await settle(`${name}@alice.test`)
    return gateway.store.findMessage(`${name}@alice.test`)
  }
  const guid = Buffer.concat([Buffer.alloc(6, 1), Buffer.alloc(16, 7)])
  const first = await postWithIndex('index-one', guid)
  const second = await postWithIndex('index-two', Buffer.concat([guid, Buffer.alloc(5, 9)]))
  const reply = await gateway.simulation.mail.awaitReply('index-one@alice.test', 30_000)
  expect(reply.headers.get('thread-topic')).toEqual(['Plans'])
  expect(second?.thread).toBe(first?.thread)
  expect(gateway.receivedMessages.find(({ id }) => id === 'index-two@alice.test')?.history).toHaveLength(2)
})

test('the address tag returns in Reply-To', async () => {
  const { mail } = await gateway.postMail({ from: from.verified, to: `echo+case-42@${mailDomain}` })
  const reply = await gateway.simulation.mail.awaitReply(mail.messageId, 30_000)
  expect(reply.headers.get('reply-to')?.[0]).toMatch(/^echo\+case-42\+r\.[0-9a-f]{32}@agents\.test$/)
})

test('the answer goes to the Reply-To of a proven domain, but not to that of another one (EM-32, EM-4.5)', async () => {
  const ownReplyTo = await gateway.postMail({ from: from.verified, headers: { 'Reply-To': 'team@alice.test' } })
  expect((await gateway.simulation.mail.awaitReply(ownReplyTo.mail.messageId, 30_000)).envelope.to).toEqual([
    'team@alice.test',
  ])
  const otherReplyTo = await gateway.postMail({ from: from.verified, headers: { 'Reply-To': 'thief@evil.test' } })
  expect((await gateway.simulation.mail.awaitReply(otherReplyTo.mail.messageId, 30_000)).envelope.to).toEqual([
    'alice@alice.test',
  ])
})
