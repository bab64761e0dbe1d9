import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'

let gateway: MailGateway
beforeAll(async () => {
  gateway = await openMailGateway({ runsAgents: true, config: { show_auto_replies: true } })
})
afterAll(() => gateway.close())

const vacationFields = { 'Auto-Submitted': 'auto-replied (vacation)', 'X-Auto-Response-Suppress': 'All' }

const waitForState = (id: string, state: string) =>
  vi.waitFor(async () => expect(await gateway.store.findMessage(id)).toMatchObject({ state }))

test.each([
  ['with a sender', {}],
  ['with the null sender', { from: '' }],
])(
  'an automatic reply %s reaches the agent with a flag, and causes no mail (EM-4.1)',
  async (_case, envelopeChanges) => {
    const { envelope, octets, messageId, ip, helo } = await gateway.simulation.mail.compose({
      to: `echo@${mailDomain}`,
      text: 'I am at the coast.',
      headers: vacationFields,
    })
    await gateway.post(octets, { ...envelope, ip, helo, ...envelopeChanges })
    await waitForState(messageId, 'answered')
    expect(await gateway.store.findMessage(messageId)).toMatchObject({ deliveries: [] })
    const message = gateway.receivedMessages.find(({ id }) => id === messageId)
    expect(message?.parts[0]).toMatchObject({ content: 'I am at the coast.' })
    expect(message?.parts.find(({ kind }) => (kind as string) === 'email')).toMatchObject({ flags: ['auto_reply'] })
  },
)

test.each([
  ['a daemon', 'a.daemon@nodmarc.test', 'From: MAILER-DAEMON@nodmarc.test', 'Auto-Submitted: auto-replied'],
  ['a list', 'a.list@nodmarc.test', 'From: bob@nodmarc.test', 'Auto-Submitted: auto-generated\nList-Id: <l.list.test>'],
  [
    'a program that uses the message id of our own agent',
    `${'1'.repeat(32)}@${mailDomain}`,
    'From: bob@nodmarc.test',
    'Auto-Submitted: auto-replied',
  ],
])('the gateway ignores automatic mail from %s', async (_case, id, from, headerFields) => {
  await gateway.post(`${from}\nTo: echo@${mailDomain}\nMessage-ID: <${id}>\n${headerFields}\n\nHello\n`)
  await waitForState(id, 'ignored')
})

test('an unsigned copy with `Auto-Submitted` does not suppress the answer to the original', async () => {
  const { envelope, octets, messageId, ip, helo } = await gateway.simulation.mail.compose({
    to: `echo@${mailDomain}`,
    text: 'Please answer.',
  })
  const copy = Buffer.concat([Buffer.from('Auto-Submitted: auto-replied\r\n'), octets])
  await gateway.post(copy, { ...envelope, ip, helo })
  await gateway.post(octets, { ...envelope, ip, helo })
  await vi.waitFor(() => {
    const answers = gateway.simulation.mail.received.filter(({ inReplyTo }) => inReplyTo === messageId)
    expect(answers).toHaveLength(1)
  })
})
