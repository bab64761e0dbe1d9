// Reads the key in the secret of a webhook (Standard Webhooks 1.0.0).

const prefix = 'whsec_'

/** The fix that configuration errors give for a secret without a key. */
export const webhookSecretFix =
  'must be some text, or "whsec_" followed by base64, for example from: openssl rand -base64 32'

/** Returns the key of a secret: the decoded base64 after `whsec_`, or any other text as bytes. An invalid or blank secret gives an empty key. */
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
