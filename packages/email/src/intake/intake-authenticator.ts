// Authenticates the clients of `POST /email/inbound` by bearer token or webhook signature.
import { createHmac } from 'node:crypto'
import type { System } from '@postern/message'
import { Rejection, readWebhookKey } from '@postern/message'
import type { SingleUseStore } from '@postern/pipeline'
import { checkWebhookTime, createSeenTokens, isSameText } from '../webhook/authentication.ts'

export type IntakeAuthenticator = ReturnType<typeof createIntakeAuthenticator>

/** The accepted age of a webhook, ms. Standard Webhooks leaves the age to the receiver and recommends five minutes. */
const timeWindow = { pastMs: 300_000, aheadMs: 300_000 }

/**
 * Creates the authentication of `POST /email/inbound`. A client authenticates with the intake secret as a bearer token
 * (RFC 6750), or with the three headers of Standard Webhooks and a `v1` signature (HMAC-SHA256 of id, time and body).
 */
export function createIntakeAuthenticator(secret: string | undefined, system: SingleUseStore & Pick<System, 'now'>) {
  const seenTokens = createSeenTokens(system, timeWindow.pastMs + timeWindow.aheadMs)
  const key = readWebhookKey(secret ?? '')
  return {
    /** Checks the headers before the body is read. @throws Rejection */
    checkHeaders(headers: Headers): void {
      if (!secret) throw new Rejection('forbidden', 'Cannot accept mail: email.intake.secret is not configured')
      if (hasWebhookSignature(headers)) {
        checkWebhookTime(headers.get('webhook-timestamp') ?? '', system.now(), timeWindow)
        seenTokens.check(readToken(headers))
      } else checkBearer(headers.get('authorization'), secret)
    },
    /** Checks the signature of the body. @throws Rejection */
    async checkBody({ headers, url }: Pick<Request, 'headers' | 'url'>, body: Uint8Array): Promise<void> {
      if (!hasWebhookSignature(headers)) return
      const expectedSignature = createHmac('sha256', key)
        .update(`${readToken(headers)}.`)
        .update(body)
        .digest('base64')
      const signatures = (headers.get('webhook-signature') ?? '').split(' ').filter(text => text.startsWith('v1,'))
      if (key.length === 0 || !signatures.slice(0, 8).some(text => isSameText(text.slice(3), expectedSignature))) {
        throw new Rejection('signature_invalid', 'Cannot accept mail: its webhook signature is wrong')
      }
      // The recipients are in the query, which is not signed. So a token is valid for one query only.
      await seenTokens.bind(`intake ${readToken(headers)}`, [new URL(url).search])
    },
    /** Remembers the signature of an accepted request, so that it is not accepted again. */
    remember(headers: Headers): void {
      if (hasWebhookSignature(headers)) seenTokens.remember(readToken(headers))
    },
  }
}

function hasWebhookSignature(headers: Headers): boolean {
  return headers.has('webhook-signature')
}

/** Returns the id and the time of a webhook, which begin the signed text. A retry with the same id has another time. */
function readToken(headers: Headers): string {
  return `${headers.get('webhook-id') ?? ''}.${headers.get('webhook-timestamp') ?? ''}`
}

function checkBearer(authorization: string | null, secret: string): void {
  const bearerToken = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  if (!bearerToken || !isSameText(bearerToken, secret))
    throw new Rejection('unsigned', 'Cannot accept mail: wrong or missing bearer token')
}
