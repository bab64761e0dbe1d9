// Creates webhooks in the formats of mail providers.
import type { KeyObject } from 'node:crypto'
import { createHmac, sign } from 'node:crypto'

/** A webhook request in the format of a mail provider. */
export interface ProviderRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

interface ProviderEnvelope {
  readonly from: string
  readonly to: string
}

/** Creates a webhook of Postal, as its documentation ("HTTP endpoints") and its source describe. The mail is base64 with line ends in JSON, and RSA-SHA256 signs the body. */
export function createPostalWebhook(octets: Buffer, { from, to }: ProviderEnvelope, key: KeyObject): ProviderRequest {
  const message = `${octets.toString('base64').replace(/.{60}/g, '$&\n')}\n`
  const payload = { id: 7, rcpt_to: to, mail_from: from || null, message, base64: true, size: octets.length }
  const body = Buffer.from(JSON.stringify(payload))
  const signature = sign('sha256', body, key).toString('base64')
  return {
    headers: {
      'content-type': 'application/json',
      'x-postal-signature-256': signature,
      'x-postal-signature-kid': 'a'.repeat(64),
    },
    body,
  }
}

/** Creates a webhook of Mailgun ("Receiving via HTTP" and "Securing webhooks"). A field of the form contains the HMAC-SHA256 of the time and the token, in hex. */
export function createMailgunWebhook(
  octets: Buffer,
  { from, to }: ProviderEnvelope,
  { key, timestamp, token }: { key: string; timestamp: number; token: string },
): ProviderRequest {
  const signature = createHmac('sha256', key).update(`${timestamp}${token}`).digest('hex')
  const fields = { recipient: to, sender: from, timestamp: `${timestamp}`, token, signature }
  const pairs = Object.entries(fields).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  const body = Buffer.from([...pairs, `body-mime=${encodeOctets(octets)}`].join('&'))
  return { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body }
}

/** Creates a webhook of SendGrid ("Securing your Inbound Parse Webhooks"). ECDSA P-256 with SHA-256 signs the time and the body, and the signature is DER in base64. */
export function createSendGridWebhook(
  octets: Buffer,
  { from, to }: ProviderEnvelope,
  { key, timestamp, ip = '192.0.2.1' }: { key: KeyObject; timestamp: number; ip?: string },
): ProviderRequest {
  const body = writeMultipart('xYzZY', {
    email: octets,
    envelope: JSON.stringify({ to: [to], from }),
    sender_ip: ip,
    charsets: '{"to":"UTF-8"}',
  })
  const signature = sign('sha256', Buffer.concat([Buffer.from(`${timestamp}`), body]), key).toString('base64')
  return {
    headers: {
      'content-type': 'multipart/form-data; boundary=xYzZY',
      'x-twilio-email-event-webhook-signature': signature,
      'x-twilio-email-event-webhook-timestamp': `${timestamp}`,
    },
    body,
  }
}

/** Creates a webhook of Postmark ("Inbound webhook"). It has the user and the password from the URL, and the raw mail as a JSON string. */
export function createPostmarkWebhook(
  octets: Buffer,
  { to }: ProviderEnvelope,
  authorization: string,
): ProviderRequest {
  const payload = { OriginalRecipient: to, MailboxHash: '', RawEmail: octets.toString('utf8'), Attachments: [] }
  return {
    headers: { 'content-type': 'application/json; charset=utf-8', authorization },
    body: Buffer.from(JSON.stringify(payload)),
  }
}

export function formatBasicAuthorization(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

/** A message of Amazon SNS ("HTTP/HTTPS notification JSON format"). */
interface SnsDraft {
  readonly Type: string
  readonly MessageId: string
  readonly TopicArn: string
  readonly Message: string
  readonly Timestamp: string
  readonly SignatureVersion: '1' | '2'
  readonly SigningCertURL: string
  readonly Subject?: string
  readonly Token?: string
  readonly SubscribeURL?: string
}

/** Writes a signed message of Amazon SNS ("Verifying the signatures"): names and values on separate lines, in alphabetical order. */
export function writeSns(draft: SnsDraft, key: KeyObject): ProviderRequest {
  const names = ['Message', 'MessageId', 'SubscribeURL', 'Subject', 'Timestamp', 'Token', 'TopicArn', 'Type'] as const
  const text = names.flatMap(name => (draft[name] === undefined ? [] : `${name}\n${draft[name]}\n`)).join('')
  const Signature = sign(draft.SignatureVersion === '1' ? 'sha1' : 'sha256', Buffer.from(text), key).toString('base64')
  return {
    headers: { 'content-type': 'text/plain; charset=UTF-8', 'x-amz-sns-message-type': draft.Type },
    body: Buffer.from(JSON.stringify({ ...draft, Signature })),
  }
}

/** Writes a notification of Amazon SES ("Notification of an SNS action"). */
export function writeSesNotification(
  octets: Buffer,
  { from, to }: ProviderEnvelope,
  encoding: 'BASE64' | 'UTF8',
  verdicts = {},
): string {
  return JSON.stringify({
    notificationType: 'Received',
    mail: { source: from, destination: [to], messageId: 'o3vrnil0e2ic28tr' },
    receipt: { recipients: [to], action: { type: 'SNS', encoding }, ...verdicts },
    content: octets.toString(encoding === 'BASE64' ? 'base64' : 'utf8'),
  })
}

/** Creates a webhook of CloudMailin ("Raw format"). It is a form with the mail and the envelope, with Basic authentication over HTTPS. */
export function createCloudMailinWebhook(
  octets: Buffer,
  { from, to }: ProviderEnvelope,
  authorization: string,
): ProviderRequest {
  const body = writeMultipart('----cloudmailinboundry', {
    'envelope[to]': to,
    'envelope[from]': from,
    'envelope[helo_domain]': 'mx.nodmarc.test',
    'envelope[remote_ip]': '192.0.2.1',
    message: octets,
  })
  return {
    headers: { 'content-type': 'multipart/form-data; boundary=----cloudmailinboundry', authorization },
    body,
  }
}

/** Creates a webhook of Forward Email ("Webhooks"), with the HMAC-SHA256 of the body in hex. */
export function createForwardEmailWebhook(
  octets: Buffer,
  { from, to }: ProviderEnvelope,
  secret: string,
  overrides = {},
): ProviderRequest {
  const payload = {
    recipients: [to],
    session: { sender: from, remoteAddress: '192.0.2.1', hostNameAppearsAs: 'mx.nodmarc.test' },
    raw: octets.toString('utf8'),
    ...overrides,
  }
  const body = Buffer.from(JSON.stringify(payload))
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  return { headers: { 'content-type': 'application/json', 'x-webhook-signature': signature }, body }
}

export function writeMultipart(boundary: string, fields: Readonly<Record<string, Buffer | string>>): Buffer {
  const parts = Object.entries(fields).flatMap(([name, value]) => [
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`),
    Buffer.from(value),
    Buffer.from('\r\n'),
  ])
  return Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)])
}

function encodeOctets(octets: Buffer): string {
  return octets
    .toString('latin1')
    .replace(/[^A-Za-z0-9_.-]/g, char => `%${char.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`)
}
