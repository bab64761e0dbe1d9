// Verifies the messages of Amazon SNS, and confirms subscriptions to configured topics.
import type { KeyObject } from 'node:crypto'
import { verify, X509Certificate } from 'node:crypto'
import { createExpiringMap } from '@postern/limits'
import type { ParsedUrl } from '@postern/message'
import { parseUrl, Rejection, Unavailable } from '@postern/message'
import { z } from 'zod'
import { createSignatureRejection } from '../webhook/authentication.ts'
import type { ProviderSystem } from './provider.ts'

/** The schema of a message of Amazon SNS. */
export const snsSchema = z.object({
  Type: z.enum(['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation']),
  MessageId: z.string(),
  TopicArn: z.string(),
  Message: z.string(),
  Timestamp: z.string(),
  SignatureVersion: z.enum(['1', '2']),
  Signature: z.string(),
  SigningCertURL: z.string(),
  Subject: z.string().nullish(),
  Token: z.string().optional(),
  SubscribeURL: z.string().optional(),
})

type SnsMessage = z.infer<typeof snsSchema>

/** The signed members of a message, in order (Amazon SNS, "Verifying the signatures of Amazon SNS messages"). */
const signedMembers: Readonly<Record<SnsMessage['Type'], readonly (keyof SnsMessage)[]>> = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
  UnsubscribeConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
}
const hashes = { '1': 'sha1', '2': 'sha256' } as const
const certificatePath = /^\/SimpleNotificationService-[0-9a-f]{16,64}\.pem$/
/** The accepted age of a message, ms. The longest retry delay of a topic is one hour. */
const timeWindow = { pastMs: 2 * 3_600_000, aheadMs: 15 * 60_000 }
const maxKeys = 16

/**
 * Creates the verifier of Amazon SNS messages. It sends requests only for configured topics, and only to Amazon SNS in
 * the topic's region.
 */
export function createSnsVerifier(topics: readonly string[], { fetch, now }: ProviderSystem) {
  const keys = createExpiringMap<Promise<KeyObject>>(maxKeys)

  async function fetchKey(url: string): Promise<KeyObject> {
    const { status, body } = await fetch(url, { maxBytes: 16 * 1024 })
    if (status !== 200) throw new Unavailable('Cannot verify webhook: its certificate cannot be had')
    return readCertificate(Buffer.from(body), now())
  }

  function findKey(url: string): Promise<KeyObject> {
    const cachedKey = keys.get(url)
    if (cachedKey) return cachedKey
    const key = fetchKey(url)
    keys.set(url, key)
    key.catch(() => keys.delete(url))
    return key
  }

  return {
    /**
     * Verifies a message.
     * @throws Rejection if it is not from Amazon SNS for this topic
     * @throws Unavailable if the certificate cannot be fetched
     */
    async verify(message: SnsMessage): Promise<void> {
      const region = checkTopic(message.TopicArn, topics)
      checkTime(message.Timestamp, now())
      const url = checkSnsUrl(message.SigningCertURL, region)
      if (!certificatePath.test(url.pathname) || url.search) throw createForeignUrlRejection()
      const key = await findKey(url.href)
      const signature = Buffer.from(message.Signature, 'base64')
      if (!verify(hashes[message.SignatureVersion], buildSignedText(message), key, signature))
        throw createSignatureRejection()
    },
    /**
     * Confirms a verified subscription.
     * @throws Rejection, Unavailable
     */
    async confirm(message: SnsMessage): Promise<void> {
      const url = checkSnsUrl(message.SubscribeURL ?? '', checkTopic(message.TopicArn, topics))
      const { status } = await fetch(url.href, { maxBytes: 64 * 1024 })
      if (status !== 200) throw new Unavailable('Cannot confirm subscription: Amazon SNS did not take it')
    },
  }
}

/** Returns the region of a configured topic: `arn:aws:sns:<region>:<account>:<name>`. */
function checkTopic(topic: string, topics: readonly string[]): string {
  if (!topics.includes(topic)) throw new Rejection('forbidden', 'Cannot accept webhook: its topic is not configured')
  return topic.split(':')[3] ?? ''
}

function checkTime(timestamp: string, now: number): void {
  const sentAt = Date.parse(timestamp)
  if (sentAt > now - timeWindow.pastMs && sentAt < now + timeWindow.aheadMs) return
  throw new Rejection('expired', 'Cannot accept webhook: its time is too far from now')
}

function checkSnsUrl(text: string, region: string): ParsedUrl {
  const url = parseUrl(text)
  const domainSuffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  if (url?.protocol !== 'https:' || url.host !== `sns.${region}.${domainSuffix}` || url.username)
    throw createForeignUrlRejection()
  return url
}

function createForeignUrlRejection(): Rejection {
  return new Rejection('forbidden', 'Cannot accept webhook: an address in it is not of Amazon SNS in its region')
}

function buildSignedText(message: SnsMessage): Buffer {
  const lines = signedMembers[message.Type].flatMap(name => (message[name] == null ? [] : [name, message[name]]))
  return Buffer.from(lines.map(line => `${line}\n`).join(''), 'utf8')
}

/** Checks that a certificate is valid now. TLS has already proven that it comes from Amazon SNS. */
function readCertificate(pem: Buffer, now: number): KeyObject {
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(pem)
  } catch (cause) {
    throw new Rejection('forbidden', 'Cannot accept webhook: its certificate cannot be read', { cause })
  }
  const isValidNow = Date.parse(certificate.validFrom) <= now && now <= Date.parse(certificate.validTo)
  if (!isValidNow) throw new Rejection('forbidden', 'Cannot accept webhook: its certificate does not count now')
  return certificate.publicKey
}
