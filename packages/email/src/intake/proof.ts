import { createHmac } from 'node:crypto'
import type { OnceStore, Platform } from '@postern/core'
import { Rejection } from '@postern/core'
import { checkWebhookTime, createSeenTokens, isSameText } from '../webhook/proof.ts'

export type IntakeProof = ReturnType<typeof createIntakeProof>

/** Standard Webhooks leaves the window to us; five minutes are its recommendation. */
const window = { past: 300_000, ahead: 300_000 }

/**
 * The right to bring mail to `POST /email/inbound`: knowledge of the intake secret, sent outright or used for a
 * signature: a bearer token (RFC 6750), or the three headers of Standard Webhooks with `v1` (HMAC-SHA256 over id, time and body).
 */
export function createIntakeProof(secret: string | undefined, platform: OnceStore & Pick<Platform, 'now'>) {
  const seen = createSeenTokens(platform, window.past + window.ahead)
  const key = readIntakeKey(secret ?? '')
  return {
    /** Settles what can be settled before the body is read. @throws Rejection */
    checkHeaders(headers: Headers): void {
      if (!secret) throw new Rejection('forbidden', 'Cannot accept mail: email.intake.secret is not configured')
      if (isHookSigned(headers)) {
        checkWebhookTime(headers.get('webhook-timestamp') ?? '', platform.now(), window)
        seen.check(tokenOf(headers))
      } else checkBearer(headers.get('authorization'), secret)
    },
    /** Settles the rest. @throws Rejection */
    async checkBody({ headers, url }: Pick<Request, 'headers' | 'url'>, body: Uint8Array): Promise<void> {
      if (!isHookSigned(headers)) return
      const signed = createHmac('sha256', key)
        .update(`${tokenOf(headers)}.`)
        .update(body)
        .digest('base64')
      const given = (headers.get('webhook-signature') ?? '').split(' ').filter(text => text.startsWith('v1,'))
      if (key.length === 0 || !given.slice(0, 8).some(text => isSameText(text.slice(3), signed))) {
        throw new Rejection('signature_invalid', 'Cannot accept mail: its webhook signature is wrong')
      }
      // The recipients are in the query, which is not signed.
      await seen.bind(`intake ${tokenOf(headers)}`, [new URL(url).search])
    },
    /** The request was accepted; its proof counts no second time. */
    remember(headers: Headers): void {
      if (isHookSigned(headers)) seen.remember(tokenOf(headers))
    },
  }
}

function isHookSigned(headers: Headers): boolean {
  return headers.has('webhook-signature')
}

/** The signed text before the body. A further try of the same id has its own time. */
function tokenOf(headers: Headers): string {
  return `${headers.get('webhook-id') ?? ''}.${headers.get('webhook-timestamp') ?? ''}`
}

/** `whsec_` and base64, as Standard Webhooks writes keys, or any text. */
function readIntakeKey(secret: string): Buffer {
  return secret.startsWith('whsec_')
    ? Buffer.from(secret.slice('whsec_'.length), 'base64')
    : Buffer.from(secret, 'utf8')
}

function checkBearer(authorization: string | null, secret: string): void {
  const given = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (!given || !isSameText(given, secret))
    throw new Rejection('unsigned', 'Cannot accept mail: wrong or missing bearer token')
}
