import type { NormalizedMessage, Part } from '@postern/message'
import type { Agent } from '@postern/pipeline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, mailEcho, openMailGateway } from '../setup/gateway.ts'

/** An agent that answers with the number of earlier messages. */
const countingAgent: Agent = {
  handle: ({ history = [] }) => `I know ${history.length} earlier.`,
}

const alice = 'Alice <alice@alice.test>'
const bob = 'Bob <bob@nodmarc.test>'

async function exchangeMails(gateway: MailGateway, plan: Parameters<MailGateway['postMail']>[0]) {
  const { mail } = await gateway.postMail({ to: `counter@${mailDomain}`, ...plan })
  const reply = await gateway.simulation.mail.awaitReply(mail.messageId, 30_000)
  await expect
    .poll(async () => (await gateway.store.findMessage(mail.messageId))?.deliveries.map(({ state }) => state))
    .toContain('sent')
  return { mail, reply, text: reply.text?.trim() }
}

describe('a conversation with one person', () => {
  let gateway: MailGateway
  beforeAll(async () => {
    gateway = await openMailGateway({ runsAgents: true, agents: { counter: countingAgent, echo: mailEcho } })
  })
  afterAll(() => gateway.close())

  test('continues by the signed reply address without References (EM-4.3)', async () => {
    const first = await exchangeMails(gateway, { from: alice, text: 'One' })
    const [replyTo = ''] = first.reply.headers.get('reply-to') ?? []
    expect(replyTo).toMatch(/^counter\+r\.[0-9a-f]{32}@agents\.test$/)
    const second = await exchangeMails(gateway, { from: alice, to: replyTo, text: 'Two' })
    expect(second.text).toBe('I know 2 earlier.')
  })

  test('continues if a mail program changes the case of the reply address', async () => {
    const first = await exchangeMails(gateway, { from: alice, text: 'One' })
    const replyTo = first.reply.headers.get('reply-to')?.[0]?.replace(/^[^@]+/, local => local.toUpperCase())
    expect((await exchangeMails(gateway, { from: alice, to: replyTo ?? '', text: 'Two' })).text).toBe(
      'I know 2 earlier.',
    )
  })

  test('stays closed for another sender, and for a forged address', async () => {
    const first = await exchangeMails(gateway, { from: alice, text: 'A secret' })
    const [replyTo = ''] = first.reply.headers.get('reply-to') ?? []
    expect((await exchangeMails(gateway, { from: bob, to: replyTo, text: 'Me too' })).text).toBe('I know 0 earlier.')
    const forgedReplyTo = replyTo.replace(/.@/, end => (end === '0@' ? '1@' : '0@'))
    expect((await exchangeMails(gateway, { from: alice, to: forgedReplyTo, text: 'Two' })).text).toBe(
      'I know 0 earlier.',
    )
  })

  test('stays closed for a guessed Message-ID, even by a proven sender (EM-4.2)', async () => {
    const first = await exchangeMails(gateway, { from: alice, text: 'A secret' })
    const ids = [first.mail.messageId, first.reply.messageId ?? '']
    const guess = await exchangeMails(gateway, { from: bob, text: 'Go on', inReplyTo: ids[1], references: ids })
    expect(guess.text).toBe('I know 0 earlier.')
    const ownReply = await exchangeMails(gateway, { from: alice, text: 'Go on', inReplyTo: ids[1], references: ids })
    expect(ownReply.text).toBe('I know 2 earlier.')
  })

  test('treats a forged token as a plain subaddress tag', async () => {
    const tag = `r.${'0'.repeat(32)}`
    const { reply } = await exchangeMails(gateway, { from: alice, to: `counter+${tag}@${mailDomain}` })
    expect(reply.headers.get('reply-to')?.[0]).toMatch(new RegExp(`^counter\\+${tag}@agents\\.test$`))
  })

  test('extends Outlook’s Thread-Index by five bytes', async () => {
    const threadIndex = Buffer.alloc(22, 7)
    threadIndex.writeUIntBE(Number((116_444_736_000_000_000n + BigInt(Date.UTC(2026, 10, 1)) * 10_000n) >> 16n), 0, 6)
    const { reply } = await exchangeMails(gateway, {
      from: alice,
      headers: { 'Thread-Index': threadIndex.toString('base64') },
    })
    const index = Buffer.from(reply.headers.get('thread-index')?.[0] ?? '', 'base64')
    expect(index).toHaveLength(27)
    expect(index.subarray(0, 22).equals(threadIndex)).toBe(true)
  })

  test('sends no answer to other people in To and Cc', async () => {
    const { reply } = await exchangeMails(gateway, { from: alice, cc: [bob, 'carol@corp.test'] })
    expect(reply.headers.get('cc')).toBeUndefined()
    expect(reply.envelope.to).toEqual(['alice@alice.test'])
  })
})

describe('a conversation with reply_all', () => {
  let gateway: MailGateway
  beforeAll(async () => {
    const config = { reply_all: true, reply_to_allow: ['desk@partner.test', '@helpers.test'] }
    gateway = await openMailGateway({ runsAgents: true, agents: { counter: countingAgent, echo: mailEcho }, config })
  })
  afterAll(() => gateway.close())

  const listRecipients = (id: string) =>
    gateway.store.findMessage(id).then(record => record?.deliveries.map(({ to }) => to).toSorted())

  test('sends the answer to people in To and Cc, except our agents, no-reply addresses and a second author (EM-4.8)', async () => {
    const { mail, reply } = await exchangeMails(gateway, {
      from: alice,
      to: [`counter@${mailDomain}`, 'dave@corp.test'],
      cc: ['Bob <bob@nodmarc.test>', `echo@${mailDomain}`, 'no-reply@corp.test', 'list-request@corp.test', alice],
    })
    expect(reply.headers.get('cc')).toEqual(['dave@corp.test, bob@nodmarc.test'])
    expect(await listRecipients(mail.messageId)).toEqual(['alice@alice.test', 'bob@nodmarc.test', 'dave@corp.test'])
  })

  test('sends an unproven author’s answer to nobody else', async () => {
    const { mail } = await exchangeMails(gateway, { from: bob, sign: false, cc: ['victim@corp.test'] })
    expect(await listRecipients(mail.messageId)).toEqual(['bob@nodmarc.test'])
  })

  test('sends no answer to a crowd', async () => {
    const cc = Array.from({ length: 21 }, (_, index) => `member${index}@corp.test`)
    const { mail } = await exchangeMails(gateway, { from: alice, cc })
    expect(await listRecipients(mail.messageId)).toEqual(['alice@alice.test'])
  })

  test('continues for the addressed people, and begins again for others', async () => {
    const group = { to: [`counter@${mailDomain}`], cc: ['bob@nodmarc.test'] }
    const first = await exchangeMails(gateway, { from: alice, ...group, text: 'One' })
    const ids = [first.mail.messageId, first.reply.messageId ?? '']
    const threading = { inReplyTo: ids[1], references: ids }
    const second = await exchangeMails(gateway, {
      from: bob,
      to: group.to,
      cc: ['alice@alice.test'],
      text: 'Two',
      ...threading,
    })
    expect(second.text).toBe('I know 2 earlier.')
    // The messages between alice and bob are hidden when alice writes alone with dave.
    const otherReply = await exchangeMails(gateway, {
      from: alice,
      to: group.to,
      cc: ['dave@corp.test'],
      text: 'Three',
      ...threading,
    })
    expect(otherReply.text).toBe('I know 0 earlier.')
    // Bob's own history has only the turn that was sent to Bob: the question and its answer together.
    const privateReply = await exchangeMails(gateway, { from: bob, text: 'Psst', ...threading })
    expect(privateReply.text).toBe('I know 1 earlier.')
  })

  test.each([
    ['an allowed mailbox', 'Desk@Partner.test', 'Desk@partner.test'],
    ['a mailbox of an allowed domain', 'any@helpers.test', 'any@helpers.test'],
    ['another mailbox', 'other@partner.test', 'alice@alice.test'],
  ])('answers a Reply-To with %s (%s) at %s (EM-32)', async (_what, replyTo, expectedRecipient) => {
    const { reply } = await exchangeMails(gateway, { from: alice, headers: { 'Reply-To': replyTo } })
    expect(reply.envelope.to).toEqual([expectedRecipient])
  })
})

test('with answer_lists only a proven author gets the answer, never the list (EM-4.1)', async () => {
  const config = { answer_lists: true, reply_all: true, answer_bcc: true }
  const gateway = await openMailGateway({
    runsAgents: true,
    agents: { counter: countingAgent, echo: mailEcho },
    config,
  })
  const byList = {
    to: [`counter@${mailDomain}`, 'devs@list.test'],
    headers: { 'List-Id': '<devs.list.test>', Precedence: 'list', 'Reply-To': 'devs@list.test' },
  }
  const { mail, reply } = await exchangeMails(gateway, { from: alice, ...byList })
  expect([reply.envelope.to, reply.headers.get('cc')]).toEqual([['alice@alice.test'], undefined])
  expect((await gateway.store.findMessage(mail.messageId))?.deliveries).toHaveLength(1)
  const otherMail = await gateway.postMail({ from: bob, sign: false, ...byList })
  expect((await gateway.store.findMessage(otherMail.mail.messageId))?.flags).toEqual(
    expect.arrayContaining(['list', 'bulk']),
  )
  await gateway.close()
})

describe('a person whom an agent names in its answer', () => {
  const receivedMessages: NormalizedMessage[] = []
  /** An agent that mentions bob in its answers to alice. */
  const namingAgent: Agent = {
    handle(message) {
      receivedMessages.push(message)
      const isAlice = message.sender.address === '@alice@alice.test'
      const parts = [{ kind: 'text', mime: 'text/plain', content: `Answer ${receivedMessages.length}` }] as const
      return { parts: [...parts], ...(isAlice && { mentions: ['@bob@nodmarc.test'] }) }
    },
  }
  const textOf = ({ parts }: { parts: readonly Part[] }) =>
    parts.map(part => (part.kind === 'text' ? part.content : '')).join('')

  test.each([
    ['the answer to bob', false, ['Answer 1']],
    ['the answer and its quoted question', true, ['A question', 'Answer 1']],
  ])('continues from %s, unlike a person who did not receive it', async (_what, quote, expectedWords) => {
    receivedMessages.length = 0
    const gateway = await openMailGateway({ runsAgents: true, agents: { counter: namingAgent }, config: { quote } })
    const { reply } = await exchangeMails(gateway, { from: alice, text: 'A question' })
    expect(reply.headers.get('to')?.[0]).toMatch(/<alice@alice\.test>, bob@nodmarc\.test$/)
    const threading = {
      text: 'I know.',
      inReplyTo: reply.messageId,
      references: reply.references.concat(reply.messageId ?? ''),
    }
    await exchangeMails(gateway, { from: bob, ...threading })
    expect(receivedMessages.at(-1)?.history).toHaveLength(1)
    for (const expectedText of expectedWords)
      expect(textOf(receivedMessages.at(-1)?.history?.[0] ?? { parts: [] })).toContain(expectedText)
    await exchangeMails(gateway, { from: 'Quentin <quentin@quarantine.test>', ...threading })
    expect(receivedMessages.at(-1)?.history ?? []).toEqual([])
    await exchangeMails(gateway, { from: bob, sign: false, ...threading, text: 'Show me.' })
    expect(receivedMessages.at(-1)?.history ?? []).toEqual([])
    await exchangeMails(gateway, { from: bob, ...threading, text: 'One more.' })
    // Successive messages of one side form one turn, with the names of their authors.
    expect(receivedMessages.at(-1)?.history?.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(textOf(receivedMessages.at(-1)?.history?.[0] ?? { parts: [] })).toContain('@bob@nodmarc.test:I know.')
    await gateway.close()
  })
})
