import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { noLog, Unavailable, Undeliverable } from '@postern/message'
import type { Simulation } from '@postern/simulation'
import { openSimulation } from '@postern/simulation'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { submitConfigSchema } from '../config/servers.ts'
import type { MailSubmitter } from './submit-mail.ts'
import { createMailSubmitter } from './submit-mail.ts'

const envelope = { from: 'echo@agents.test', to: ['bob@nodmarc.test'] }
const octets = Buffer.from(
  'From: echo@agents.test\r\nTo: bob@nodmarc.test\r\nMessage-ID: <1@agents.test>\r\n\r\n.dot\r\n..two\r\nHello  \r\n',
)
let simulation: Simulation
let submit: MailSubmitter

beforeAll(async () => {
  simulation = await openSimulation()
  submit = createMailSubmitter(simulation.mail.submit, noLog)
})
afterAll(async () => {
  submit.close()
  await simulation.close()
})

test('createMailSubmitter() sends the exact bytes, without a login', async () => {
  const reply = { status: 250, reply_line: '250 OK: message queued' }
  expect(await submit(envelope, octets)).toEqual({ response: '250', reply })
  const [mail] = simulation.mail.received
  expect(mail?.octets.toString()).toBe(octets.toString())
  expect(mail?.envelope).toEqual(envelope)
})

test.each([
  [
    'for good after the data',
    { code: 554, message: '5.7.1 I know bob@nodmarc.test' },
    Undeliverable,
    'the mail server refused it: 554 5.7.1',
  ],
  [
    'for good at the recipient',
    { code: 550, message: '5.1.1 who?', at: 'rcpt' as const },
    Undeliverable,
    'the mail server refused it: 550 5.1.1',
  ],
  ['for now after the data', { code: 451, message: 'busy' }, Unavailable, 'the mail server put it off: 451'],
  [
    'for now at the recipient',
    { code: 450, message: '4.2.1 later', at: 'rcpt' as const },
    Unavailable,
    'the mail server put it off: 450 4.2.1',
  ],
])('createMailSubmitter() handles a refusal %s', async (_what, refusal, kind, message) => {
  const fix = simulation.mail.refuse(refusal)
  const failure = await submit(envelope, octets).catch(error => error)
  fix()
  expect(failure).toBeInstanceOf(kind)
  expect(failure.message).toBe(message)
})

test('a smarthost that is not listening is a temporary failure', async () => {
  const unreachableSubmitter = createMailSubmitter({ host: '127.0.0.1', port: 1 }, noLog)
  await expect(unreachableSubmitter(envelope, octets)).rejects.toThrow(
    new Unavailable('the mail server could not be reached (ESOCKET)'),
  )
  unreachableSubmitter.close()
})

test('a smarthost that refuses the connection leaves the mail waiting', async () => {
  const server = createServer(socket => socket.on('error', () => undefined).end('554 5.7.1 not you\r\n'))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const refusedSubmitter = createMailSubmitter({ host: '127.0.0.1', port }, noLog)
  await expect(refusedSubmitter(envelope, octets)).rejects.toMatchObject({
    name: 'Unavailable',
    message: 'the mail server put it off: 554 5.7.1',
    status: 554,
    replyLine: '554 5.7.1 not you',
  })
  refusedSubmitter.close()
  server.close()
})

test('the gateway waits for the reply to DATA as long as RFC 5321 §4.5.3.2.6 asks, and sends no mail twice', () => {
  expect(submitConfigSchema.parse({ host: 'mail.example' }).timeout_ms).toBeGreaterThanOrEqual(600_000)
})

describe('over LMTP (RFC 2033)', () => {
  let server: SMTPServer
  let lmtp: MailSubmitter
  let verdict: Error | undefined
  const acceptedMails: string[] = []

  beforeAll(async () => {
    server = new SMTPServer({
      lmtp: true,
      disabledCommands: ['AUTH', 'STARTTLS'],
      logger: false,
      onData(stream, _session, done) {
        stream.on('data', chunk => acceptedMails.push(chunk.toString()))
        stream.on('end', () => done(null, [verdict ?? 'kept'] as unknown as string))
      },
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.server.address() as AddressInfo
    lmtp = createMailSubmitter(submitConfigSchema.parse({ host: '127.0.0.1', port, protocol: 'lmtp' }), noLog)
  })
  afterAll(async () => {
    lmtp.close()
    await new Promise<void>(resolve => server.close(() => resolve()))
  })

  test('the gateway sends the mail, and its recipient’s reply counts', async () => {
    expect(await lmtp(envelope, octets)).toMatchObject({
      response: expect.stringMatching(/^250/),
      reply: { status: 250, reply_line: '250 kept' },
    })
    expect(acceptedMails.join('')).toContain('Message-ID: <1@agents.test>')
    verdict = Object.assign(new Error('no such mailbox'), { responseCode: 550 })
    await expect(lmtp(envelope, octets)).rejects.toThrow(Undeliverable)
    verdict = Object.assign(new Error('full for now'), { responseCode: 452 })
    await expect(lmtp(envelope, octets)).rejects.toThrow(Unavailable)
  })
})
