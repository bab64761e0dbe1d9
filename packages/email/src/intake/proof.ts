// Authenticates the clients of `POST /email/inbound` by bearer token or webhook signature.
import { createHmac } from 'node:crypto'
import type { System } from '@postern/message'
import { Rejection, readWebhookKey } from '@postern/message'
import type { OnceStore } from '@postern/pipeline'
import { checkWebhookTime, createSeenTokens, isSameText } from '../webhook/proof.ts'

export type IntakeProof = ReturnType<typeof createIntakeProof>

/** The time window, ms. Standard Webhooks leaves it to the receiver and recommends five minutes. */
const window = { pastMs: 300_000, aheadMs: 300_000 }

/**
 * Creates the proof of the right to use `POST /email/inbound`. A client proves it knows the intake secret by a bearer
 * token (RFC 6750), or by the three headers of Standard Webhooks with `v1` (HMAC-SHA256 over id, time and body).
 */
export function createIntakeProof(secret: string | undefined, system: OnceStore & Pick<System, 'now'>) {
  const seenTokens = createSeenTokens(system, window.pastMs + window.aheadMs)
  const key = readWebhookKey(secret ?? '')
  return {
    /** Checks the headers before the body is read. @throws Rejection */
    checkHeaders(headers: Headers): void {
      if (!secret) throw new Rejection('forbidden', 'Cannot accept mail: email.intake.secret is not configured')
      if (isHookSigned(headers)) {
        checkWebhookTime(headers.get('webhook-timestamp') ?? '', system.now(), window)
        seenTokens.check(tokenOf(headers))
      } else checkBearer(headers.get('authorization'), secret)
    },
    /** Checks the signature of the body. @throws Rejection */
    async checkBody({ headers, url }: Pick<Request, 'headers' | 'url'>, body: Uint8Array): Promise<void> {
      if (!isHookSigned(headers)) return
      const expectedSignature = createHmac('sha256', key)
        .update(`${tokenOf(headers)}.`)
        .update(body)
        .digest('base64')
      const signatures = (headers.get('webhook-signature') ?? '').split(' ').filter(text => text.startsWith('v1,'))
      if (key.length === 0 || !signatures.slice(0, 8).some(text => isSameText(text.slice(3), expectedSignature))) {
        throw new Rejection('signature_invalid', 'Cannot accept mail: its webhook signature is wrong')
      }
      // The recipients are in the query, which is not signed. So a token counts for one query only.
      await seenTokens.bind(`intake ${tokenOf(headers)}`, [new URL(url).search])
    },
    /** Remembers the proof of an accepted request, so that it counts no second time. */
    remember(headers: Headers): void {
      if (isHookSigned(headers)) seenTokens.remember(tokenOf(headers))
    },
  }
}

function isHookSigned(headers: Headers): boolean {
  return headers.has('webhook-signature')
}

/** Returns the signed text before the body. Another attempt with the same id has its own time. */
function tokenOf(headers: Headers): string {
  return `${headers.get('webhook-id') ?? ''}.${headers.get('webhook-timestamp') ?? ''}`
}

function checkBearer(authorization: string | null, secret: string): void {
  const bearerToken = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (!bearerToken || !isSameText(bearerToken, secret))
    throw new Rejection('unsigned', 'Cannot accept mail: wrong or missing bearer token')
}
