import { createHmac, timingSafeEqual } from 'node:crypto'

const toleranceMs = 300_000

/** Whether the gateway has signed it (Standard Webhooks 1.0), within five minutes. */
export function isSignedWebhook(
  headers: Headers,
  body: string,
  { secret, now }: { secret: string; now: number },
): boolean {
  const [id, at] = [headers.get('webhook-id') ?? '', headers.get('webhook-timestamp') ?? '']
  if (!/^\d{1,12}$/.test(at) || Math.abs(now - Number(at) * 1000) > toleranceMs) return false
  const expected = createHmac('sha256', readKey(secret)).update(`${id}.${at}.${body}`).digest()
  // A header of more than a few signatures is nobody's who rotates a secret.
  const given = (headers.get('webhook-signature') ?? '').split(' ').slice(0, 4)
  return given.some(signature => {
    const bytes = Buffer.from(signature.replace(/^v1,/, ''), 'base64')
    return signature.startsWith('v1,') && bytes.length === expected.length && timingSafeEqual(bytes, expected)
  })
}

function readKey(secret: string): Buffer {
  return secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret)
}
