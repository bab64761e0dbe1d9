import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { makeCertificate } from '@postern/http/test-certificate'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { emailConfigSchema } from '../../src/index.ts'

import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import type { ProviderRequest } from '../setup/provider-requests.ts'
import {
  createCloudMailinWebhook,
  createMailgunWebhook,
  createPostalWebhook,
  createPostmarkWebhook,
  createSendGridWebhook,
  formatBasicAuthorization,
  writeMultipart,
  writeSesNotification,
  writeSns,
} from '../setup/provider-requests.ts'
import { openSmtpClient } from '../setup/smtp-client.ts'
import { readCertificatePem, readProviderConfig, readRecordedRequest, recordedAt } from './recorded-request.ts'

const names = ['postal', 'mailgun', 'sendgrid', 'postmark', 'ses', 'cloudmailin', 'forwardemail']
const refusalStatuses: Readonly<Record<string, number>> = {
  postal: 422,
  mailgun: 406,
  sendgrid: 200,
  postmark: 403,
  ses: 403,
  cloudmailin: 422,
  forwardemail: 422,
}
const snsHost = 'sns.eu-west-1.amazonaws.com'
const fetchedPaths: string[] = []
/** Returns the answer of the simulated Amazon SNS to a request for its certificate. */
let answerCertificateRequest: () => { readonly status: number; readonly body: Buffer }
const amazon = createServer((request, response) => {
  fetchedPaths.push(request.url ?? '')
  const { status, body } = request.url?.endsWith('.pem')
    ? answerCertificateRequest()
    : { status: 200, body: Buffer.from('<xml/>') }
  response.writeHead(status).end(body)
})
const policyRefusal = 'Cannot verify mail: no aligned proof, and the DMARC policy of the From domain is reject'
const amazonCertificate = makeCertificate(snsHost)
const ownKey = generateKeyPairSync('rsa', { modulusLength: 2048 })

beforeAll(() => new Promise<void>(resolve => amazon.listen(0, '127.0.0.1', resolve)))
afterAll(() => amazon.close())

let gateway: MailGateway
beforeEach(async () => {
  fetchedPaths.length = 0
  answerCertificateRequest = () => ({ status: 200, body: readCertificatePem() })
  gateway = await openAtRecordedTime({})
})
afterEach(() => gateway.close())

async function openAtRecordedTime(providers: Readonly<Record<string, unknown>>, limits = {}): Promise<MailGateway> {
  const recordedConfigs = Object.fromEntries(names.map(name => [name, readProviderConfig(name)]))
  const loopback = { [snsHost]: (amazon.address() as AddressInfo).port }
  const opened = await openMailGateway({
    config: { providers: { ...recordedConfigs, ...providers }, limits, listen: { port: 0, protocol: 'lmtp' } },
    loopback,
  })
  opened.system.advance(recordedAt - opened.system.now())
  return opened
}

async function deliver(name: string, { headers, body }: ProviderRequest, at = gateway) {
  const response = await at.channel.endpoint.routes.fetch(
    new Request(`https://${mailDomain}/email/inbound/${name}`, { method: 'POST', headers, body: new Uint8Array(body) }),
    { incoming: { socket: { remoteAddress: '192.0.2.200' } } },
  )
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json')
  return { status: response.status, text, json: isJson ? JSON.parse(text) : undefined }
}

const deliverRecorded = (name: string, title: string) => deliver(name, readRecordedRequest(name, title))
const countStored = async () => (await gateway.store.listMessages({ limit: 10 })).length

describe.each(names)('the webhook of %s', name => {
  test('delivers the mail unchanged and gets 200 if it is valid (EM-2.3)', async () => {
    const { status, json } = await deliverRecorded(name, 'good')
    expect({ status, json }).toEqual({ status: 200, json: { status: 'accepted', messages: [{ outcome: 'accepted' }] } })
    const { message } = await gateway.readLatestMessage()
    expect(message).toMatchObject({ id: 'recorded@nodmarc.test', recipient: `@echo@${mailDomain}` })
    expect(message.parts).toMatchObject([
      { kind: 'text', content: 'Grüße & 100 % = all of it.' },
      { kind: 'email', subject: 'Over a provider' },
    ])
    expect(message.raw).toMatch(/^From: Bob <bob@nodmarc\.test>\r\nTo: .*all of it\.\r\n$/s)
  })

  test('gets a refusal for a wrong signature or password, and the operator sees it (EM-71)', async () => {
    const { status, json } = await deliverRecorded(name, 'wrong-signature')
    expect(status).toBe(name === 'ses' ? 403 : 401)
    expect(json.detail).toMatch(/^Cannot accept webhook: (its signature is wrong|wrong or missing user and password)$/)
    expect(await countStored()).toBe(0)
    expect(await gateway.store.listRefusals({ limit: 1 })).toMatchObject([{ from: '192.0.2.200', reason: json.detail }])
  })

  test('starts no second turn when it repeats', async () => {
    await deliverRecorded(name, 'good')
    const { status, json } = await deliverRecorded(name, 'good')
    if (name === 'mailgun' || name === 'sendgrid') {
      expect({ status, detail: json.detail }).toEqual({
        status: 401,
        detail: 'Cannot accept webhook: this webhook was received already',
      })
    } else {
      expect({ status, messages: json.messages }).toEqual({ status: 200, messages: [{ outcome: 'duplicate' }] })
    }
    expect(await countStored()).toBe(1)
  })

  test('gets a status that ends the delivery of an oversized mail (EM-44)', async () => {
    const smallGateway = await openAtRecordedTime({}, { message_bytes: 200 })
    const { status, text } = await deliver(name, readRecordedRequest(name, 'good'), smallGateway)
    expect(status).toBe(refusalStatuses[name])
    expect(text).toContain('Cannot accept mail: larger than 200 bytes')
    const oversizedRequest = { ...readRecordedRequest(name, 'good'), body: Buffer.alloc(1024 * 1024, 'x') }
    expect((await deliver(name, oversizedRequest, smallGateway)).status).toBe(refusalStatuses[name])
    await smallGateway.close()
  })

  test('gets a status that ends the delivery of a mail for no local agent', async () => {
    const request = readRecordedRequest(name, 'good')
    const otherGateway = await openMailGateway({
      config: { providers: { [name]: readProviderConfig(name) } },
      agents: { helper: { handle: () => undefined } },
      loopback: { [snsHost]: (amazon.address() as AddressInfo).port },
    })
    otherGateway.system.advance(recordedAt - otherGateway.system.now())
    const { status, text } = await deliver(name, request, otherGateway)
    expect(status).toBe(refusalStatuses[name])
    expect(text).toContain('Cannot accept mail: no such agent here')
    await otherGateway.close()
  })

  test('gets a refusal without a proof in its header, before its body', async () => {
    if (name === 'mailgun' || name === 'ses') return
    const { headers } = readRecordedRequest(name, 'good')
    const body = new ReadableStream({
      pull() {
        throw new Error('somebody reads')
      },
    })
    const request = new Request(`https://${mailDomain}/email/inbound/${name}`, {
      method: 'POST',
      headers: { 'content-type': headers['content-type'] ?? '' },
      body,
      duplex: 'half',
    } as RequestInit)
    expect((await gateway.channel.endpoint.routes.fetch(request)).status).toBe(401)
  })

  test('does not exist for a provider outside the configuration', async () => {
    const otherGateway = await openMailGateway()
    expect((await deliver(name, readRecordedRequest(name, 'good'), otherGateway)).status).toBe(404)
    await otherGateway.close()
  })

  test('gets a refusal for an encoded body and another content type (EM-73)', async () => {
    const { headers, body } = readRecordedRequest(name, 'good')
    const encodedRequest = { headers: { ...headers, 'content-encoding': 'gzip' }, body }
    expect(await deliver(name, encodedRequest)).toMatchObject({ status: 415 })
    if (name === 'ses') return
    const { status } = await deliver(name, { headers: { ...headers, 'content-type': 'application/xml' }, body })
    expect(status).toBe(415)
  })
})

describe('without DNS answers', () => {
  test.each(names)('the gateway asks %s to retry', async name => {
    const request = readRecordedRequest(name, 'good')
    gateway.simulation.dns.fail('_dmarc.nodmarc.test', 'servfail')
    const { status, json } = await deliver(name, request)
    expect({ status, detail: json.detail }).toEqual({ status: 503, detail: 'Cannot verify mail: DNS did not answer' })
    gateway.simulation.dns.set('_dmarc.nodmarc.test', {})
    gateway.system.advance(60_000)
  })
})

describe('a mail whose refusal must not reach its claimed sender', () => {
  const octets = Buffer.from(`From: a@x.test\r\nFrom: b@x.test\r\nTo: echo@${mailDomain}\r\n\r\nHi\r\n`)
  const envelope = { from: 'a@x.test', to: `echo@${mailDomain}` }

  test('ends without a refusal if that would go to an address in the mail', async () => {
    const bouncingGateway = await openAtRecordedTime({
      postal: { public_key: ownKey.publicKey.export({ type: 'spki', format: 'pem' }) },
    })
    const { status, json } = await deliver(
      'postal',
      createPostalWebhook(octets, envelope, ownKey.privateKey),
      bouncingGateway,
    )
    expect(status).toBe(200)
    expect(json).toEqual({ status: 'refused', code: 'malformed', detail: 'Cannot read mail: more than one From' })
    expect(await bouncingGateway.store.listRefusals({ limit: 1 })).toMatchObject([{ code: 'malformed' }])
    await bouncingGateway.close()
  })

  test('ends with a refusal if only the provider sees it', async () => {
    const { user, password } = readProviderConfig('postmark') as { user: string; password: string }
    const request = createPostmarkWebhook(octets, envelope, formatBasicAuthorization(user, password))
    expect(await deliver('postmark', request)).toMatchObject({
      status: 403,
      json: { detail: 'Cannot read mail: more than one From' },
    })
  })
})

test('the refusal for CloudMailin is a sentence for the sender', async () => {
  const { user, password } = readProviderConfig('cloudmailin') as { user: string; password: string }
  const octets = Buffer.from(`From: bob@nodmarc.test\r\nTo: nobody@${mailDomain}\r\n\r\nHi\r\n`)
  const envelope = { from: 'bob@nodmarc.test', to: `nobody@${mailDomain}` }
  expect(
    await deliver('cloudmailin', createCloudMailinWebhook(octets, envelope, formatBasicAuthorization(user, password))),
  ).toMatchObject({
    status: 422,
    text: 'Cannot accept mail: no such agent here',
  })
})

test.each(['mailgun', 'sendgrid', 'ses'])(
  'the gateway refuses a webhook of %s with an old time (EM-71)',
  async name => {
    const { status, json } = await deliverRecorded(name, 'old-timestamp')
    expect({ status, detail: json.detail }).toEqual({
      status: name === 'ses' ? 403 : 401,
      detail: 'Cannot accept webhook: its time is too far from now',
    })
  },
)

test('two webhooks of SendGrid with different signature formats count as one (EM-71)', async () => {
  const { headers, body } = readRecordedRequest('sendgrid', 'good')
  const name = 'x-twilio-email-event-webhook-signature'
  const text = headers[name] ?? ''
  await deliverRecorded('sendgrid', 'good')
  const respelledRequest = { headers: { ...headers, [name]: `${text.slice(0, 8)} ${text.slice(8)}` }, body }
  expect((await deliver('sendgrid', respelledRequest)).json.detail).toBe(
    'Cannot accept webhook: this webhook was received already',
  )
})

test('a repeated Mailgun token delivers no second mail, even after a restart (EM-71)', async () => {
  const signing_key = 'key-of-sixteen-characters'
  const firstGateway = await openAtRecordedTime({ mailgun: { signing_key } })
  const restartedGateway = await openMailGateway({
    config: { providers: { mailgun: { signing_key } } },
    wrapStore: () => firstGateway.store,
  })
  restartedGateway.system.advance(recordedAt - restartedGateway.system.now())
  const createWebhook = (text: string, to = 'echo') =>
    createMailgunWebhook(
      Buffer.from(`From: bob@nodmarc.test\r\nMessage-ID: <${text}@nodmarc.test>\r\n\r\n${text}\r\n`),
      { from: 'bob@nodmarc.test', to: `${to}@${mailDomain}` },
      { key: signing_key, timestamp: recordedAt / 1000, token: 'one-token' },
    )
  expect((await deliver('mailgun', createWebhook('good'), firstGateway)).status).toBe(200)
  for (const otherBody of [createWebhook('other'), createWebhook('good', 'helper')]) {
    const { status, json } = await deliver('mailgun', otherBody, restartedGateway)
    expect({ status, detail: json.detail }).toEqual({
      status: 401,
      detail: 'Cannot accept webhook: this webhook was received already',
    })
  }
  // A retry after a lost answer has the same content.
  expect((await deliver('mailgun', createWebhook('good'), restartedGateway)).json.messages).toEqual([
    { outcome: 'duplicate' },
  ])
  await restartedGateway.close()
  await firstGateway.close()
})

describe('the clock of a webhook', () => {
  const signing_key = 'key-of-sixteen-characters'
  const keyPair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const public_key = keyPair.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
  const octets = Buffer.from('From: bob@nodmarc.test\r\nMessage-ID: <clock@nodmarc.test>\r\n\r\nHello\r\n')
  const envelope = { from: 'bob@nodmarc.test', to: `echo@${mailDomain}` }
  const writers: Readonly<Record<'mailgun' | 'sendgrid', (timestamp: number) => ProviderRequest>> = {
    mailgun: timestamp =>
      createMailgunWebhook(octets, envelope, { key: signing_key, timestamp, token: `t${timestamp}` }),
    sendgrid: timestamp => createSendGridWebhook(octets, envelope, { key: keyPair.privateKey, timestamp }),
  }
  const [minute, hour, day] = [60, 3600, 86_400]

  // These windows are documented in docs/explanation/mail/receiving.md.
  test.each([
    ['mailgun', -12 * hour + minute, true],
    ['mailgun', -12 * hour - minute, false],
    ['mailgun', 4 * minute, true],
    ['mailgun', 6 * minute, false],
    ['sendgrid', -4 * day + minute, true],
    ['sendgrid', -4 * day - minute, false],
    ['sendgrid', 4 * minute, true],
    ['sendgrid', 6 * minute, false],
  ] as const)('%s may differ by %i seconds: %s', async (name, seconds, isAccepted) => {
    const opened = await openAtRecordedTime({ mailgun: { signing_key }, sendgrid: { public_key } })
    const timestamp = Math.floor(opened.system.now() / 1000) + seconds
    const { json } = await deliver(name, writers[name](timestamp), opened)
    const late = expect.objectContaining({ detail: 'Cannot accept webhook: its time is too far from now' })
    expect(json).toEqual(isAccepted ? expect.objectContaining({ messages: [{ outcome: 'accepted' }] }) : late)
    await opened.close()
  })
})

test.each(['', 'short', 'fifteen-letters'])('the configuration refuses the short Mailgun key "%s"', signing_key => {
  const config = emailConfigSchema.safeParse({ providers: { mailgun: { signing_key } } })
  expect(config.error?.issues[0]?.message).toBe('must have 16 characters at least')
})

describe('the recipient list of CloudMailin', () => {
  const { user, password } = readProviderConfig('cloudmailin') as { user: string; password: string }
  const to = [`echo@${mailDomain}`, `helper@${mailDomain}`]
  test.each<[string, Readonly<Record<string, string>>]>([
    ['numbered', { 'envelope[recipients][0]': to[0] ?? '', 'envelope[recipients][1]': to[1] ?? '' }],
    ['in one field', { 'envelope[recipients]': to.join(', ') }],
  ])('names every agent that gets the mail: %s', async (_what, fields) => {
    const message = Buffer.from('From: bob@nodmarc.test\r\nMessage-ID: <both@nodmarc.test>\r\n\r\nHello\r\n')
    const form = { 'envelope[to]': to[0] ?? '', 'envelope[from]': 'bob@nodmarc.test', ...fields, message }
    expect(await postBody(writeMultipart('b', form))).toEqual(['accepted', 'accepted'])
  })

  test('may be in repeated fields', async () => {
    const message = encodeURIComponent('From: bob@nodmarc.test\r\nMessage-ID: <both@nodmarc.test>\r\n\r\nHello\r\n')
    const list = to.map(each => `envelope[recipients][]=${each}`).join('&')
    const body = Buffer.from(`envelope[to]=${to[0]}&${list}&message=${message}`)
    expect(await postBody(body, 'application/x-www-form-urlencoded')).toEqual(['accepted', 'accepted'])
  })

  async function postBody(body: Buffer, type = 'multipart/form-data; boundary=b'): Promise<readonly string[]> {
    const headers = { 'content-type': type, authorization: formatBasicAuthorization(user, password) }
    const { json } = await deliver('cloudmailin', { headers, body })
    return json.messages.map(({ outcome }: { outcome: string }) => outcome)
  }
})

test('the gateway refuses a body that differs from the signed one by a line ending (EM-71)', async () => {
  for (const name of ['postal', 'forwardemail', 'sendgrid']) {
    const { headers, body } = readRecordedRequest(name, 'good')
    const changedRequest = { headers, body: Buffer.concat([body, Buffer.from('\n')]) }
    expect((await deliver(name, changedRequest)).status, name).toBe(401)
  }
})

test.each([
  ['postal', { message: undefined }, 'Choose the format "Raw message" for the HTTP endpoint.'],
  ['forwardemail', { raw: '' }, 'Its webhook must carry "raw".'],
])('the gateway asks %s to retry without the raw mail, and shows the operator the fix', async (name, change, fix) => {
  const config = { postal: { public_key: ownKey.publicKey.export({ type: 'spki', format: 'pem' }) } }
  const opened = await openAtRecordedTime(config)
  const { sign, createHmac } = await import('node:crypto')
  const json = JSON.parse(readRecordedRequest(name, 'good').body.toString())
  const body = Buffer.from(JSON.stringify({ ...json, ...change }))
  const { secret = '' } = readProviderConfig(name) as { secret?: string }
  const proofs = {
    postal: () => ({ 'x-postal-signature-256': sign('sha256', body, ownKey.privateKey).toString('base64') }),
    forwardemail: () => ({ 'x-webhook-signature': createHmac('sha256', secret).update(body).digest('hex') }),
  }
  const headers = { 'content-type': 'application/json', ...proofs[name as 'postal']() }
  const answer = await deliver(name, { headers, body }, opened)
  expect({ status: answer.status, detail: answer.json.detail }).toEqual({
    status: 503,
    detail: `Cannot read webhook: it has no raw mail. ${fix}`,
  })
  await opened.close()
})

describe('Amazon SNS', () => {
  test('the gateway accepts signature versions 1 and 2 after one fetch of the certificate (EM-2.5)', async () => {
    expect((await deliverRecorded('ses', 'good')).status).toBe(200)
    expect((await deliverRecorded('ses', 'version-1')).status).toBe(200)
    expect(fetchedPaths).toEqual(['/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem'])
  })

  test('the gateway confirms the subscription of a configured topic', async () => {
    expect(await deliverRecorded('ses', 'confirmation')).toMatchObject({ status: 200, json: { messages: [] } })
    expect(fetchedPaths).toHaveLength(2)
    expect(fetchedPaths[1]).toMatch(
      /^\/\?Action=ConfirmSubscription&TopicArn=arn:aws:sns:eu-west-1:123456789012:mail&Token=/,
    )
  })

  test.each([
    ['a topic that is not configured', 'foreign-topic', 'its topic is not configured'],
    ['a certificate in S3', 'certificate-in-s3', 'an address in it is not of Amazon SNS in its region'],
    ['a certificate over plain HTTP', 'certificate-over-http', 'an address in it is not of Amazon SNS in its region'],
    ['a certificate of another region', 'certificate-elsewhere', 'an address in it is not of Amazon SNS in its region'],
  ])('the gateway refuses %s without a fetch (EM-72)', async (_what, title, problem) => {
    const { status, json } = await deliverRecorded('ses', title)
    expect({ status, detail: json.detail }).toEqual({ status: 403, detail: `Cannot accept webhook: ${problem}` })
    expect(fetchedPaths).toEqual([])
  })

  test.each(['confirmation-inside', 'confirmation-plain'])('the gateway does not confirm %s (EM-72)', async title => {
    const { status } = await deliverRecorded('ses', title)
    expect(status).toBe(403)
    expect(fetchedPaths.filter(path => !path.endsWith('.pem'))).toEqual([])
  })

  test.each([
    ['an answer that is no certificate', () => ({ status: 200, body: Buffer.from('<html>') }), 403],
    ['a certificate that cannot be had', () => ({ status: 404, body: Buffer.from('') }), 503],
  ])('%s proves nothing, and the gateway fetches it again', async (_what, certificateResponse, status) => {
    answerCertificateRequest = certificateResponse
    expect((await deliverRecorded('ses', 'good')).status).toBe(status)
    answerCertificateRequest = () => ({ status: 200, body: readCertificatePem() })
    expect((await deliverRecorded('ses', 'good')).status).toBe(200)
  })

  test.each([
    ['proves the author where the operator says so', true, 'PASS', { status: 200, verified: true }],
    ['that is not believed proves nothing', false, 'PASS', { status: 403, detail: policyRefusal }],
    ['that is no pass proves nothing', true, 'GRAY', { status: 403, detail: policyRefusal }],
  ])("the gateway handles Amazon's verdict %s", async (_what, trust_provider_verdict, status, expected) => {
    const topics = readProviderConfig('ses').topics as string[]
    const opened = await openAtRecordedTime({ ses: { topics, trust_provider_verdict } })
    answerCertificateRequest = () => ({ status: 200, body: Buffer.from(amazonCertificate.cert) })
    const octets = Buffer.from('From: alice@alice.test\r\nMessage-ID: <v@alice.test>\r\n\r\nHello.\r\n')
    const envelope = { from: 'alice@alice.test', to: `echo@${mailDomain}` }
    const draft = {
      Type: 'Notification',
      MessageId: 'verdict',
      TopicArn: topics[0] ?? '',
      Message: writeSesNotification(octets, envelope, 'BASE64', { dmarcVerdict: { status } }),
      Timestamp: new Date(recordedAt).toISOString(),
      SignatureVersion: '2',
      SigningCertURL: `https://${snsHost}/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem`,
    } as const
    const answer = await deliver('ses', writeSns(draft, createPrivateKey(amazonCertificate.key)), opened)
    const [stored] = await opened.store.listMessages({ limit: 1 })
    const record = stored && (await opened.store.findMessage(stored.id))
    const { detail } = answer.json
    expect({ status: answer.status, detail, verified: record?.message.sender.verified }).toEqual(expected)
    await opened.close()
  })

  test('the gateway refuses a notification whose time is a week away', async () => {
    gateway.system.advance(-7 * 86_400_000)
    const { json } = await deliverRecorded('ses', 'good')
    expect(json.detail).toBe('Cannot accept webhook: its time is too far from now')
  })
})

describe('a webhook form (EM-73)', () => {
  const { user, password } = readProviderConfig('cloudmailin') as { user: string; password: string }
  const authorization = formatBasicAuthorization(user, password)
  const post = (type: string, body: Buffer) =>
    deliver('cloudmailin', { headers: { 'content-type': type, authorization }, body })
  const manyFields = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`f${index}`, 'x']))

  test.each<[string, string, Buffer, string]>([
    ['10 000 parts', 'multipart/form-data; boundary=b', writeMultipart('b', manyFields), 'more than 1000 fields'],
    ['10 000 pairs', 'application/x-www-form-urlencoded', Buffer.from('a=b&'.repeat(10_000)), 'more than 1000 fields'],
    ['no boundary', 'multipart/form-data', Buffer.from('--b--'), 'it has no boundary'],
    ['a boundary that never comes', 'multipart/form-data; boundary=b', Buffer.from('x'), 'its boundary does not occur'],
    [
      'a part without end',
      'multipart/form-data; boundary=b',
      Buffer.from('--b\r\nContent-Disposition: form-data; name="message"\r\n\r\nhi'),
      'a part has no end',
    ],
    [
      'a part without header',
      'multipart/form-data; boundary=b',
      Buffer.from(`--b\r\n${'x'.repeat(9000)}\r\n--b--`),
      'a part has no header',
    ],
  ])('gets 400 for %s', async (_what, type, body, problem) => {
    expect(await post(type, body)).toMatchObject({ status: 400, json: { detail: `Cannot read webhook: ${problem}` } })
  })

  test('keeps the bytes of a field unchanged', async () => {
    const raw = Buffer.concat([
      Buffer.from(
        `From: bob@nodmarc.test\r\nTo: echo@${mailDomain}\r\nContent-Type: text/plain; charset=latin1\r\n\r\n`,
      ),
      Buffer.from([0x47, 0x72, 0xfc, 0xdf, 0x65, 0x0d, 0x0a]),
    ])
    const envelope = { from: 'bob@nodmarc.test', to: `echo@${mailDomain}` }
    expect((await deliver('cloudmailin', createCloudMailinWebhook(raw, envelope, authorization))).status).toBe(200)
    expect((await gateway.readLatestMessage()).message.parts).toMatchObject([{ content: 'Grüße' }])
  })
})

test('one mail from three webhooks, the intake and LMTP is one turn (EM-74, EM-2.4)', async () => {
  for (const name of ['postal', 'cloudmailin', 'ses']) expect((await deliverRecorded(name, 'good')).status).toBe(200)
  const { message } = await gateway.readLatestMessage()
  expect((await gateway.post(String(message.raw))).status).toBe(200)
  const client = await openSmtpClient(gateway.listening?.port ?? 0)
  await client.readReply()
  for (const line of ['LHLO mx.nodmarc.test', 'MAIL FROM:<bob@nodmarc.test>', `RCPT TO:<echo@${mailDomain}>`, 'DATA']) {
    await client.sendLine(line)
  }
  const octets = Buffer.from(String(message.raw)).toString('latin1')
  expect(await client.sendLine(`Return-Path: <bob@nodmarc.test>\r\nReceived: by us\r\n${octets}.`)).toMatch(/^250 /)
  client.end()
  expect(await countStored()).toBe(1)
  expect((await gateway.readLatestMessage()).duplicates).toBe(4)
})
