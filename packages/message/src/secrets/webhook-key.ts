// Reads the key in the secret of a webhook (Standard Webhooks 1.0.0).

const prefix = 'whsec_'

/** The error of a reader of the configuration about a secret without a key. */
export const webhookSecretFix =
  'must be some text, or "whsec_" followed by base64, for example from: openssl rand -base64 32'

/** Returns the key of a secret: `whsec_` and base64, or any other text as it is. It is empty when the secret is neither, and then counts for nothing. */
export function readWebhookKey(secret: string): Uint8Array {
  if (!secret.startsWith(prefix)) return Buffer.from(secret.trim() === '' ? '' : secret, 'utf8')
  const encoded = secret.slice(prefix.length)
  const key = Buffer.from(encoded, 'base64')
  const isBase64 = key.toString('base64').replace(/=+$/, '') === encoded.replace(/=+$/, '')
  return isBase64 ? key : new Uint8Array()
}

export function hasWebhookKey(secret: string): boolean {
  return readWebhookKey(secret).length > 0
}
