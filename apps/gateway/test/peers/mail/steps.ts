// Lists the steps of the exam with mail servers.
import { deepStrictEqual, match } from 'node:assert/strict'
import type { MessageRecord } from '@postern/pipeline'
import { waitUntil } from '../eventually.ts'
import { ourHost } from '../names.ts'
import type { OurGateway } from '../our-gateway.ts'
import type { ExamStep } from '../run-steps.ts'
import type { Alice, Received } from './alice.ts'
import type { Dkimpy } from './dkimpy.ts'
import { alice, bea, goneAddress, peopleHost } from './names.ts'
import type { OpenDkim } from './opendkim.ts'

interface MailSetup {
  readonly gateway: OurGateway
  readonly alice: Alice
  readonly dkimpy: Dkimpy
  readonly opendkim: OpenDkim
}

/** The steps of alice and the agent, who write to each other through a mail server, in this order. */
export const mailSteps: readonly ExamStep<MailSetup>[] = [
  { name: 'a mail by swaks comes to the agent, who knows that alice wrote it', run: ask },
  { name: 'the answer lies in her mailbox: in the thread, and marked as automatic', run: readAnswer },
  { name: 'dkimpy and OpenDKIM find both of its signatures good, and none when a word is changed', run: judgeAnswer },
  { name: 'alice answers the answer, and the thread goes on', run: goOn },
  { name: 'a mail to nobody is refused at our door, and the server tells alice', run: writeToNobody },
  { name: 'nothing else came to the agent, and nothing else was refused', run: checkAll },
  { name: 'an answer that the server took and could not deliver: its report ends the delivery', run: sendToGone },
]

/** The step for a server whose mail OpenDKIM signs on its way. */
export const filterSteps: readonly ExamStep<MailSetup>[] = [
  { name: 'a mail that OpenDKIM signs on its way comes to the agent, who knows whose it is', run: askUnsigned },
]

const echo = `echo@${ourHost}`
const subject = 'A question'

async function ask(setup: MailSetup): Promise<void> {
  const id = await setup.alice.write({ to: echo, subject, text: 'Does this arrive?' })
  const { message } = await findRecord(setup, id)
  const { address, auth_method, verified } = message.sender
  deepStrictEqual(
    { address, auth_method, verified },
    { address: `@${alice}`, auth_method: 'email-dmarc', verified: true },
  )
}

async function askUnsigned(setup: MailSetup): Promise<void> {
  await setup.alice.write({ from: bea, to: echo, subject, text: 'And this?', isUnsigned: true })
  // By default, OpenDKIM does not sign Message-ID, so the mail is identified by its digest.
  const { message, flags } = await waitUntil('the message is there', async () =>
    (await setup.gateway.messages()).find(({ message: { sender } }) => sender.address === `@${bea}`),
  )
  const { auth_method, key_id } = message.sender
  deepStrictEqual([auth_method, key_id], ['email-dmarc', `d=${peopleHost}/s=filter`])
  deepStrictEqual(flags, ['unsigned_message_id', 'unsigned_content_type'])
}

async function readAnswer(setup: MailSetup): Promise<void> {
  const { id, answer } = await findFirstAnswer(setup)
  const header = (name: string) => answer.headers.get(name)
  deepStrictEqual(answer.references, [id])
  deepStrictEqual(header('subject'), [`Re: ${subject}`])
  deepStrictEqual(header('auto-submitted'), ['auto-replied'])
  match(answer.text ?? '', /Does this arrive\?/)
  // The server has recorded the envelope sender, so that bounces reach the delivery that they report on.
  match(header('return-path')?.[0] ?? '', /^<echo\+b\.[^@]+@agents\.test>$/)
}

async function judgeAnswer(setup: MailSetup): Promise<void> {
  const { octets } = (await findFirstAnswer(setup)).answer
  const verdicts = (isGood: string) => ['ed25519-sha256', 'rsa-sha256'].map(name => `${ourHost} ${name} ${isGood}`)
  for (const { judge } of [setup.dkimpy, setup.opendkim]) {
    deepStrictEqual(await judge(octets), verdicts('True'))
    deepStrictEqual(await judge(octets.replace('arrive', 'depart')), verdicts('False'))
  }
}

async function goOn(setup: MailSetup): Promise<void> {
  const { id, answer } = await findFirstAnswer(setup)
  const to = /[^<\s]+@[^>\s]+/.exec(answer.headers.get('reply-to')?.[0] ?? '')?.[0] ?? ''
  const second = await setup.alice.write({ to, subject: `Re: ${subject}`, text: 'And this?', answers: answer })
  const { references } = await setup.alice.findAnswer(second)
  deepStrictEqual(references, [id, answer.messageId, second])
  const [before, after] = await Promise.all([findRecord(setup, id), findRecord(setup, second)])
  deepStrictEqual(after.thread, before.thread)
}

async function writeToNobody({ alice }: MailSetup): Promise<void> {
  const nobody = `nobody@${ourHost}`
  const id = await alice.write({ to: nobody, subject: 'Is there anybody?', text: 'Hello?' })
  const report = await waitUntil('the report is in the mailbox', () => alice.mailbox().find(isReportOn(id)))
  match(report.octets, new RegExp(`Final-Recipient: rfc822; *${nobody}`, 'i'))
  match(report.octets, /Status: 5\./)
}

const isReportOn = (id: string) => (mail: Received) => mail.octets.includes(id) && /^Action: failed/im.test(mail.octets)

/** Checks the records of alice's two mails to the agent, and of the one to the missing user. */
async function checkAll({ gateway }: MailSetup): Promise<void> {
  const records = await gateway.messages()
  deepStrictEqual(
    records.map(({ message, deliveries }) => [message.sender.address, deliveries.map(({ state }) => state)]),
    [alice, alice].map(address => [`@${address}`, ['sent']]),
  )
  deepStrictEqual(
    (await gateway.refusals()).map(({ code }) => code),
    ['no_recipient'],
  )
}

/** Checks that the bounce reaches the address of the delivery, and that the missing user gets no more mail. */
async function sendToGone(setup: MailSetup): Promise<void> {
  const id = await setup.alice.write({ from: goneAddress, to: echo, subject, text: 'Answer me if you can.' })
  const { deliveries } = await waitUntil('the delivery has ended', async () => {
    const record = await findRecord(setup, id)
    return record.deliveries.some(({ state }) => state === 'dead') ? record : undefined
  })
  match(deliveries[0]?.last_error ?? '', /5\.\d/)
  match(await setup.gateway.postern('suppressions', 'echo'), new RegExp(goneAddress))
}

async function findFirstAnswer({ alice, gateway }: MailSetup): Promise<{ id: string; answer: Received }> {
  const firstMessage = (await gateway.messages()).toSorted((left, right) => left.number - right.number)[0]
  const id = firstMessage?.message.id ?? ''
  return { id, answer: await alice.findAnswer(id) }
}

function findRecord({ gateway }: MailSetup, id: string): Promise<MessageRecord> {
  return waitUntil('the message is there', async () =>
    (await gateway.messages()).find(({ message }) => message.id.includes(id)),
  )
}
