import type { Agent } from '@postern/pipeline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, mailEcho, noBudgets, openMailGateway } from '../setup/gateway.ts'
import { postSignedMail } from '../setup/signed-mail.ts'

let gateway: MailGateway
let count = 0

beforeAll(async () => {
  const budgets = { ...noBudgets, unverified_per_day: 3 }
  const config = { reply_to_from: ['form@shop.example', 'No-Reply@shop.example'], budgets }
  const countingAgent: Agent = { handle: ({ history = [] }) => `I know ${history.length} earlier.` }
  gateway = await openMailGateway({ runsAgents: true, config, agents: { echo: mailEcho, counter: countingAgent } })
})
afterAll(() => gateway.close())

const visitor = 'Reply-To: Visitor <visitor@example.net>'

interface FormContent {
  readonly from?: string
  readonly replyTo?: string
  readonly extraFields?: readonly string[]
  readonly covers?: (name: string) => boolean
}

async function submitForm({
  from = 'form@shop.example',
  replyTo = visitor,
  extraFields = [],
  covers = () => true,
}: FormContent) {
  count += 1
  const id = `form${count}@example.org`
  const lines = [
    `From: Website <${from}>`,
    `To: counter@${mailDomain}`,
    'Subject: Question',
    `Date: ${new Date(gateway.system.now()).toUTCString()}`,
    `Message-ID: <${id}>`,
    replyTo,
    ...extraFields,
    '',
    `I need a quote. ${count}`,
  ]
  const fields = lines.slice(0, -2).flatMap(line => line.split(':', 1)[0] ?? [])
  const envelope = { to: `counter@${mailDomain}` }
  await postSignedMail(gateway, { domain: 'shop.example', lines, envelope, fields: fields.filter(covers) })
  await expect.poll(async () => (await gateway.store.findMessage(id))?.state).toMatch(/^(?:ignored|answered)$/)
  const record = await gateway.store.findMessage(id)
  return { id, to: record?.deliveries.map(delivery => delivery.to) ?? [], flags: record?.flags ?? [] }
}

test.each<[what: string, filled: FormContent]>([
  ['the form', {}],
  ['a form with a no-reply address', { from: 'no-reply@shop.example', replyTo: 'Reply-To: other@example.net' }],
  ['a form that says that a program wrote it', { extraFields: ['Auto-Submitted: auto-generated'] }],
])('the visitor gets the answer to %s', async (_what, form) => {
  const { to, flags } = await submitForm(form)
  expect([to, flags]).toEqual([[form.replyTo?.split(' ')[1] ?? 'visitor@example.net'], ['by_form']])
})

test.each<[what: string, filled: FormContent, to: readonly string[]]>([
  ['another mailbox of the domain', { from: 'sales@shop.example' }, ['sales@shop.example']],
  ['a Reply-To that nobody signed', { covers: name => name !== 'Reply-To' }, ['form@shop.example']],
  ['two visitors', { replyTo: `${visitor}, b@example.net` }, ['form@shop.example']],
  ['a local agent as visitor', { replyTo: `Reply-To: echo@${mailDomain}` }, ['form@shop.example']],
  ['a no-reply form without a visitor', { from: 'no-reply@shop.example', replyTo: 'X-Form: 1' }, []],
])('only the sender gets an answer to mail of %s', async (_what, form, to) => {
  expect((await submitForm(form)).to).toEqual(to)
})

test('a visitor who replies continues the conversation, and another visitor does not see it', async () => {
  const replyToField = 'Reply-To: alice@alice.test'
  const { id } = await submitForm({ replyTo: replyToField })
  const reply = await gateway.simulation.mail.awaitReply(id, 30_000)
  const threading = { inReplyTo: reply.messageId, references: [id, reply.messageId ?? ''] }
  const askAs = async (from: string) => {
    const { mail } = await gateway.postMail({ from, to: `counter@${mailDomain}`, text: `So ${from}?`, ...threading })
    return (await gateway.simulation.mail.awaitReply(mail.messageId, 30_000)).text?.trim()
  }
  expect(await askAs('Alice <alice@alice.test>')).toBe('I know 1 earlier.')
  expect(await askAs('Bob <bob@nodmarc.test>')).toBe('I know 0 earlier.')
  const stranger = await submitForm({ replyTo: 'Reply-To: bob@nodmarc.test', extraFields: [`References: <${id}>`] })
  expect((await gateway.simulation.mail.awaitReply(stranger.id, 30_000)).text?.trim()).toBe('I know 0 earlier.')
})

test('the budget of unproven authors also limits the answers to a visitor of forms', async () => {
  const replyTo = 'Reply-To: victim@example.net'
  const answers = [await submitForm({ replyTo }), await submitForm({ replyTo }), await submitForm({ replyTo })]
  expect(answers.map(({ to }) => to.length)).toEqual([1, 1, 1])
  expect(await submitForm({ replyTo })).toMatchObject({ to: [], flags: ['by_form', 'backscatter_budget'] })
})
