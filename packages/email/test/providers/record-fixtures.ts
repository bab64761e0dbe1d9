// Rewrites fixtures/email/providers: `node packages/email/test/providers/record-fixtures.ts`. Private keys are discarded.
import { execFileSync } from 'node:child_process'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { ProviderRequest } from '../setup/provider-requests.ts'
import {
  createCloudMailinWebhook,
  createForwardEmailWebhook,
  createMailgunWebhook,
  createPostalWebhook,
  createPostmarkWebhook,
  createSendGridWebhook,
  formatBasicAuthorization,
  writeSesNotification,
  writeSns,
} from '../setup/provider-requests.ts'

const folder = new URL('../../../../fixtures/email/providers/', import.meta.url)
const mail = Buffer.from(
  [
    'From: Bob <bob@nodmarc.test>',
    'To: Echo <echo@agents.test>',
    'Subject: Over a provider',
    'Date: Sun, 22 Nov 2026 12:00:00 +0000',
    'Message-ID: <recorded@nodmarc.test>',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: 8bit',
    '',
    'Grüße & 100 % = all of it.',
    '',
  ].join('\r\n'),
)
const envelope = { from: 'bob@nodmarc.test', to: 'echo@agents.test' }
const timestamp = Date.parse('2026-11-22T12:00:00Z') / 1000
const [user, password, secret] = ['postern', 'a-password-of-a-webhook', 'a-secret-of-a-webhook']

function writeRequests(name: string, config: object, requests: Readonly<Record<string, ProviderRequest>>): void {
  const target = new URL(`${name}/`, folder)
  mkdirSync(target, { recursive: true })
  writeFileSync(new URL('config.json', target), `${JSON.stringify(config, undefined, 2)}\n`)
  for (const [caseName, { headers, body }] of Object.entries(requests)) {
    const lines = Object.entries(headers).map(([field, value]) => `${field}: ${value}\r\n`)
    const head = `POST /email/inbound/${name} HTTP/1.1\r\n${lines.join('')}content-length: ${body.length}\r\n\r\n`
    writeFileSync(new URL(`${caseName}.http`, target), Buffer.concat([Buffer.from(head), body]))
  }
}

const derPublicKey = { type: 'spki', format: 'der' } as const
const rsaKeyPair = generateKeyPairSync('rsa', { modulusLength: 2048 })
const otherRsaKeyPair = generateKeyPairSync('rsa', { modulusLength: 2048 })
writeRequests(
  'postal',
  { public_key: rsaKeyPair.publicKey.export(derPublicKey).toString('base64') },
  {
    good: createPostalWebhook(mail, envelope, rsaKeyPair.privateKey),
    'wrong-signature': createPostalWebhook(mail, envelope, otherRsaKeyPair.privateKey),
  },
)

const signing = { key: secret, timestamp, token: 'f'.repeat(50) }
writeRequests(
  'mailgun',
  { signing_key: secret },
  {
    good: createMailgunWebhook(mail, envelope, signing),
    'wrong-signature': createMailgunWebhook(mail, envelope, { ...signing, key: 'another' }),
    'old-timestamp': createMailgunWebhook(mail, envelope, { ...signing, timestamp: timestamp - 13 * 3600 }),
  },
)

const generateEcKeyPair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const [ecKeyPair, otherEcKeyPair] = [generateEcKeyPair(), generateEcKeyPair()]
writeRequests(
  'sendgrid',
  { public_key: ecKeyPair.publicKey.export(derPublicKey).toString('base64') },
  {
    good: createSendGridWebhook(mail, envelope, { key: ecKeyPair.privateKey, timestamp }),
    'wrong-signature': createSendGridWebhook(mail, envelope, { key: otherEcKeyPair.privateKey, timestamp }),
    'old-timestamp': createSendGridWebhook(mail, envelope, {
      key: ecKeyPair.privateKey,
      timestamp: timestamp - 5 * 86_400,
    }),
  },
)

for (const [name, writeRequest] of [
  ['postmark', createPostmarkWebhook],
  ['cloudmailin', createCloudMailinWebhook],
] as const) {
  writeRequests(
    name,
    { user, password },
    {
      good: writeRequest(mail, envelope, formatBasicAuthorization(user, password)),
      'wrong-signature': writeRequest(mail, envelope, formatBasicAuthorization(user, 'another-password')),
    },
  )
}

writeRequests(
  'forwardemail',
  { secret },
  {
    good: createForwardEmailWebhook(mail, envelope, secret),
    'wrong-signature': createForwardEmailWebhook(mail, envelope, 'another'),
  },
)

/** Creates a certificate like that of Amazon SNS, with openssl, because Node cannot create one. */
function createCertificate(): { readonly key: ReturnType<typeof createPrivateKey>; readonly pem: string } {
  const scratch = mkdtempSync(`${tmpdir()}/sns-`)
  const [keyFile, pemFile] = [`${scratch}/key.pem`, `${scratch}/cert.pem`]
  const options = ['-newkey', 'rsa:2048', '-nodes', '-days', '36500', '-subj', '/CN=sns.amazonaws.com']
  execFileSync('openssl', ['req', '-x509', ...options, '-keyout', keyFile, '-out', pemFile], { stdio: 'ignore' })
  const keyPair = { key: createPrivateKey(readFileSync(keyFile)), pem: readFileSync(pemFile, 'utf8') }
  rmSync(scratch, { recursive: true })
  return keyPair
}

const certificate = createCertificate()
const topic = 'arn:aws:sns:eu-west-1:123456789012:mail'
const host = 'https://sns.eu-west-1.amazonaws.com'
const message = {
  MessageId: '22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324',
  TopicArn: topic,
  Timestamp: '2026-11-22T12:00:00.000Z',
  SignatureVersion: '2',
  SigningCertURL: `${host}/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem`,
} as const
const notification = {
  ...message,
  Type: 'Notification',
  Subject: 'Amazon SES Email Receipt Notification',
  Message: writeSesNotification(mail, envelope, 'BASE64'),
} as const
const confirmation = {
  ...message,
  Type: 'SubscriptionConfirmation',
  Token: '2336412f37',
  Message: `You have chosen to subscribe to the topic ${topic}.`,
  SubscribeURL: `${host}/?Action=ConfirmSubscription&TopicArn=${topic}&Token=2336412f37`,
} as const
const signForSns = (draft: Parameters<typeof writeSns>[0]) => writeSns(draft, certificate.key)
writeRequests(
  'ses',
  { topics: [topic] },
  {
    good: signForSns(notification),
    'version-1': signForSns({ ...notification, SignatureVersion: '1' }),
    'as-utf8': signForSns({ ...notification, Message: writeSesNotification(mail, envelope, 'UTF8') }),
    'wrong-signature': writeSns(notification, otherRsaKeyPair.privateKey),
    confirmation: signForSns(confirmation),
    'confirmation-inside': signForSns({ ...confirmation, SubscribeURL: 'https://169.254.169.254/latest/meta-data/' }),
    'confirmation-plain': signForSns({
      ...confirmation,
      SubscribeURL: confirmation.SubscribeURL.replace('https', 'http'),
    }),
    'foreign-topic': signForSns({ ...notification, TopicArn: topic.replace('123456789012', '210987654321') }),
    'certificate-in-s3': signForSns({
      ...notification,
      SigningCertURL: 'https://sns.s3.eu-west-1.amazonaws.com/a.pem',
    }),
    'certificate-over-http': signForSns({
      ...notification,
      SigningCertURL: notification.SigningCertURL.replace('https', 'http'),
    }),
    'certificate-elsewhere': signForSns({
      ...notification,
      SigningCertURL: notification.SigningCertURL.replace('eu-west-1', 'us-east-1'),
    }),
    'old-timestamp': signForSns({ ...notification, Timestamp: '2026-11-21T12:00:00.000Z' }),
  },
)
writeFileSync(new URL('ses/certificate.pem', folder), certificate.pem)
