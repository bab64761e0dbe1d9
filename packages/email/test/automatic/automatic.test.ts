import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'

let gateway: MailGateway
let counter = 0
beforeAll(async () => {
  gateway = await openMailGateway()
})
afterAll(() => gateway.close())

interface DirectMessage {
  readonly from?: string
  readonly to?: string
  readonly fields?: string
  readonly envelopeFrom?: string
  readonly messageId?: string
  readonly subject?: string
  readonly text?: string
}

async function postDirectMessage({
  from = 'bob@nodmarc.test',
  to,
  fields = '',
  envelopeFrom = 'bob@nodmarc.test',
  messageId,
  subject = 'Hi',
  text = 'Hello',
}: DirectMessage) {
  counter += 1
  const id = messageId ?? `a${counter}@nodmarc.test`
  const message = `From: ${from}\nTo: ${to ?? `echo@${mailDomain}`}\n${fields}Message-ID: <${id}>\nSubject: ${subject}\n\n${text} ${counter}\n`
  const answer = await gateway.post(message, { from: envelopeFrom, to: `echo@${mailDomain}` })
  expect(answer.status).toBe(200)
  return gateway.readLatestMessage()
}

test.each<[flag: string, what: string, mail: DirectMessage]>([
  ['bounce', 'the null sender', { envelopeFrom: '' }],
  ['bounce', 'an empty Return-Path', { fields: 'Return-Path: <>\n' }],
  [
    'bounce',
    'a delivery report',
    { fields: 'Content-Type: multipart/report; report-type=delivery-status; boundary=b\n' },
  ],
  ['bounce', 'X-Failed-Recipients', { fields: 'X-Failed-Recipients: a@b.test\n' }],
  ['bounce', 'a mailer daemon', { from: 'MAILER-DAEMON@nodmarc.test' }],
  ['bounce', 'a mailer daemon in the envelope', { envelopeFrom: 'postmaster@nodmarc.test' }],
  [
    'disposition_notice',
    'a read receipt',
    { fields: 'Content-Type: multipart/report; boundary=b;\n report-type="disposition-notification"\n' },
  ],
  [
    'feedback_report',
    'a complaint',
    { fields: 'Content-Type: multipart/report; report-type=feedback-report; boundary=b\n' },
  ],
  ['auto_reply', 'Auto-Submitted', { fields: 'Auto-Submitted: auto-replied (vacation)\n' }],
  ['auto_reply', 'Auto-Submitted in capitals', { fields: 'Auto-Submitted: AUTO-GENERATED; owner-email="a@b"\n' }],
  ['auto_reply', 'Auto-Submitted of an unknown kind', { fields: 'Auto-Submitted: noticed\n' }],
  ['auto_reply', 'X-Autoreply', { fields: 'X-Autoreply: yes\n' }],
  ['auto_reply', 'X-Autorespond', { fields: 'X-Autorespond: Re\n' }],
  ['auto_reply', 'Precedence: auto_reply', { fields: 'Precedence: auto_reply\n' }],
  ['list', 'List-Id', { fields: 'List-Id: <news.list.test>\n' }],
  ['list', 'List-Post', { fields: 'List-Post: <mailto:a@list.test>\n' }],
  ['bulk', 'List-Unsubscribe', { fields: 'List-Unsubscribe: <https://list.test/u>\n' }],
  ['bulk', 'Precedence: bulk', { fields: 'Precedence: Bulk\n' }],
  ['bulk', 'Precedence: list', { fields: 'Precedence: list\n' }],
  ['bulk', 'Precedence: junk', { fields: 'Precedence: junk\n' }],
  ['bulk', 'Feedback-ID', { fields: 'Feedback-ID: a:b:c\n' }],
  ['silence_asked', 'X-Auto-Response-Suppress', { fields: 'X-Auto-Response-Suppress: DR, AutoReply\n' }],
  ['no_reply', 'a no-reply author', { from: 'No-Reply@nodmarc.test' }],
  ['no_reply', 'a do-not-reply author', { from: 'do_not_reply@nodmarc.test' }],
  ['no_reply', 'a list owner', { from: 'owner-news@nodmarc.test' }],
  ['no_reply', 'a request address', { from: 'news-request@nodmarc.test' }],
  ['no_reply', 'a bounce address', { from: 'bounce+1@nodmarc.test' }],
  ['no_reply', 'a list server', { from: 'listserv@nodmarc.test' }],
  ['bounce', 'a postmaster with an underscore', { from: 'post_master@nodmarc.test' }],
  [
    'calendar_reply',
    'an accepted invitation',
    { fields: 'Content-Type: text/calendar; charset=utf-8; method=REPLY\n' },
  ],
  ['auto_reply', "Apple's vacation", { fields: 'X-Apple-Action: VACATION\n' }],
  ['auto_reply', 'an Exchange rule', { fields: 'X-MS-Exchange-Generated-Message-Source: Mailbox Rules Agent\n' }],
  ['auto_reply', 'X-Loop', { fields: 'X-Loop: robot@nodmarc.test\n' }],
  ['auto_reply', 'OTRS', { fields: 'X-OTRS-Loop: yes\n' }],
  ['auto_reply', 'FirstClass', { fields: 'X-FC-MachineGenerated: true\n' }],
  ['auto_reply', 'X-POST-MessageClass', { fields: 'X-POST-MessageClass: 9; Autoresponder\n' }],
  ['auto_reply', 'Delivered-To: Autoresponder', { fields: 'Delivered-To: Autoresponder\n' }],
  ['auto_reply', 'a vacation subject', { subject: '=?utf-8?B?T2Rwb3dpZWTFuiBhdXRvbWF0eWN6bmE6IFB5dGFuaWU=?=' }],
  ['list', 'ezmlm', { fields: 'Mailing-List: contact a-help@list.test; run by ezmlm\n' }],
  ['own_mail', 'an envelope sender of ours', { envelopeFrom: `helper@${mailDomain}` }],
  ['own_mail', 'EM-63: our own answer through a list', { messageId: `${'0'.repeat(32)}@${mailDomain}` }],
  ['not_addressed', 'somebody else in To', { to: 'team@corp.test' }],
  ['not_addressed', 'hidden recipients', { to: 'undisclosed-recipients:;' }],
])('by %s the gateway keeps %s and hides it from the agent (EM-62, EM-4.1)', async (flag, _what, mail) => {
  const record = await postDirectMessage(mail)
  expect(record.flags).toContain(flag)
  expect(record).toMatchObject({ state: 'ignored', deliveries: [] })
})

test.each<[what: string, mail: DirectMessage]>([
  ['nothing special', {}],
  ['Auto-Submitted: no', { fields: 'Auto-Submitted: no\n' }],
  ['Auto-Submitted: no with a comment', { fields: 'Auto-Submitted: No (really)\n' }],
  ['Precedence: first-class', { fields: 'Precedence: first-class\n' }],
  ['the agent in Cc', { to: 'team@corp.test', fields: `Cc: Echo+x@${mailDomain}\n` }],
  ['an author called Nora Plynn', { from: 'Nora Plynn <nora.plynn@nodmarc.test>' }],
  ['an author called Norman', { from: 'normandy@nodmarc.test' }],
  ["Fastmail's Feedback-ID", { fields: 'Feedback-ID: i1234abcd:Fastmail\n' }],
  ['an invitation', { fields: 'Content-Type: text/calendar; method=REQUEST\n' }],
  ['a gateway that bounces', { from: 'bounce.house@nodmarc.test' }],
  ['an envelope sender made for bounces', { envelopeFrom: 'bounces+42=echo@mailer.test' }],
  ['a subject that looks automatic', { fields: 'X-Mailer: Automatic\n' }],
  ['X-Autoreply: no', { fields: 'X-Autoreply: no\n' }],
  ['a FirstClass server', { fields: 'X-FC-MachineGenerated: false\n' }],
  ['X-POST-MessageClass of a person', { fields: 'X-POST-MessageClass: 1\n' }],
  ['a delivery to a mailbox', { fields: `Delivered-To: echo@${mailDomain}\n` }],
  ['a long mail about automatic replies', { subject: 'Automatic reply', text: 'How do we set one up? '.repeat(60) }],
  ['a reply to a vacation notice', { subject: 'Re: Automatic reply: Question' }],
  ['X-Auto-Response-Suppress for receipts only', { fields: 'X-Auto-Response-Suppress: DR, RN\n' }],
])('a person with %s gets an answer (EM-62)', async (_what, mail) => {
  expect(await postDirectMessage(mail)).toMatchObject({ state: 'received', flags: [] })
})

test('a proven person who writes to the agent gets an answer despite X-Auto-Response-Suppress', async () => {
  const { mail } = await gateway.postMail({ headers: { 'X-Auto-Response-Suppress': 'All' } })
  expect(await gateway.store.findMessage(mail.messageId)).toMatchObject({
    state: 'received',
    message: { sender: { verified: true } },
  })
})

test('the gateway also answers a forwarded mail with answer_bcc', async () => {
  const bccGateway = await openMailGateway({ config: { answer_bcc: true } })
  await bccGateway.post('From: bob@nodmarc.test\nTo: team@corp.test\n\nHello\n')
  expect(await bccGateway.readLatestMessage()).toMatchObject({ state: 'received' })
  await bccGateway.close()
})
