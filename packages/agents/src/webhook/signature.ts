import { createHmac } from 'node:crypto'

const prefix = 'whsec_'

/** The key of a Standard Webhooks secret: `whsec_` + base64, or any other text as it is. Empty when it is neither. */
export function readWebhookKey(secret: string): Uint8Array {
  if (!secret.startsWith(prefix)) return Buffer.from(secret, 'utf8')
  const encoded = secret.slice(prefix.length)
  const key = Buffer.from(encoded, 'base64')
  const isBase64 = key.toString('base64').replace(/=+$/, '') === encoded.replace(/=+$/, '')
  return isBase64 ? key : new Uint8Array()
}

interface SignedWebhook {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly body: string
}

/** The headers that prove who sent `body` and when (Standard Webhooks 1.0.0, signature scheme). */
export function signWebhook({ id, now, body }: SignedWebhook, key: Uint8Array): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(now / 1_000))
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
