import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TinyGateway } from '../../test/tiny-gateway.ts'
import { openTinyGateway } from '../../test/tiny-gateway.ts'
import type { Simulation } from '../index.ts'
import { openSimulation } from '../index.ts'
import type { MailSink } from './sink.ts'
import { openMailSink } from './sink.ts'

let simulation: Simulation
let gateway: TinyGateway
/** A stand-in for the gateway's SMTP listener. */
let listener: MailSink

beforeAll(async () => {
  simulation = await openSimulation()
  gateway = await openTinyGateway(simulation, { onPost: () => ({ status: 200 }) })
  listener = await openMailSink()
  const { port } = gateway
  simulation.connectGateway({
    origin: 'https://agents.test',
    port,
    smtpPort: listener.port,
    intakeSecret: 'open sesame',
  })
})
afterAll(async () => {
  await Promise.all([simulation.close(), gateway.close(), listener.close()])
})

/** Submits a mail to the simulation's sink like a gateway. */
async function submit(headers: Record<string, string> = {}, text = 'the answer') {
  const transport = createTransport({ ...simulation.mail.submit, ignoreTLS: true })
  const mail = { from: 'echo@agents.test', to: 'alice@alice.test', subject: 'Re: Hello', text, headers }
  return transport.sendMail(mail).finally(() => transport.close())
}

test('sendSmtp() sends the bytes unchanged, with their envelope', async () => {
  const mail = await simulation.mail.compose({ to: 'echo@agents.test', text: 'a\n.\n..b\n' })
  expect(await simulation.mail.sendSmtp(mail)).toMatchObject({ code: 250 })
  const got = await listener.arrivals.waitFor(({ messageId }) => messageId === mail.messageId, 30_000)
  expect(got.octets.equals(mail.octets)).toBe(true)
  expect(got.envelope).toEqual(mail.envelope)
})

test('sendSmtp() reports the refusal', async () => {
  listener.refuse({ code: 550, message: '5.7.1 no', times: 1 })
  const mail = await simulation.mail.compose({ to: 'echo@agents.test', text: 'x' })
  expect(await simulation.mail.sendSmtp(mail)).toEqual({ code: 550, response: '550 5.7.1 no' })
  listener.refuse({ code: 450, message: '4.2.0 later', at: 'rcpt', times: 1 })
  expect(await simulation.mail.sendSmtp(mail)).toMatchObject({ code: 450 })
  expect(await simulation.mail.sendSmtp(mail)).toMatchObject({ code: 250 })
})

test('postIntake() posts the bytes with envelope, address and secret', async () => {
  const mail = await simulation.mail.compose({
    to: ['echo@agents.test', 'help@agents.test'],
    text: 'x',
    fault: 'wrong_owner',
  })
  expect(await simulation.mail.postIntake(mail)).toMatchObject({ status: 200 })
  const request = gateway.posted.at(-1)
  expect(request).toMatchObject({
    path: '/email/inbound',
    headers: { 'content-type': 'message/rfc822', authorization: 'Bearer open sesame' },
  })
  expect([...(request?.query ?? [])]).toEqual([
    ['from', 'mallory@evil.test'],
    ['ip', '127.0.0.1'],
    ['helo', 'mx.evil.test'],
    ['to', 'echo@agents.test'],
    ['to', 'help@agents.test'],
  ])
  expect(request?.body.equals(mail.octets)).toBe(true)
})

test('deliver() sends a replayed mail twice, byte for byte', async () => {
  const before = listener.arrivals.items.length
  await simulation.mail.deliver({ to: 'echo@agents.test', text: 'x', fault: 'replayed' })
  const [first, second, ...more] = listener.arrivals.items.slice(before)
  expect(more).toEqual([])
  expect(first && second?.octets.equals(first.octets)).toBe(true)
})

test('the sink keeps the gateway’s mails, and awaitReply() finds one by In-Reply-To', async () => {
  const coming = simulation.mail.awaitReply('<question@alice.test>', 30_000)
  await submit({ 'In-Reply-To': '<question@alice.test>', 'Auto-Submitted': 'auto-replied' })
  const reply = await coming
  expect(reply).toMatchObject({
    text: 'the answer\n',
    envelope: { from: 'echo@agents.test', to: ['alice@alice.test'] },
  })
  expect(reply.headers.get('auto-submitted')).toEqual(['auto-replied'])
})

test('the sink counts arrivals by Message-ID', async () => {
  await submit({ 'Message-ID': '<twice@agents.test>' })
  await submit({ 'Message-ID': '<twice@agents.test>' })
  expect(simulation.mail.countArrivals('twice@agents.test')).toBe(2)
})

test('the sink can refuse a mail once and accept it the next time', async () => {
  simulation.mail.refuse({ code: 451, message: '4.3.0 busy', times: 1 })
  await expect(submit({ 'Message-ID': '<later@agents.test>' })).rejects.toMatchObject({ responseCode: 451 })
  expect(simulation.mail.countArrivals('later@agents.test')).toBe(0)
  await submit({ 'Message-ID': '<later@agents.test>' })
  expect(simulation.mail.countArrivals('later@agents.test')).toBe(1)
})
