import type { RejectionCode } from '@postern/core'
import { Rejection, Unavailable } from '@postern/core'

type Codes = readonly [code: number, enhanced: string]

const replies: Readonly<Record<RejectionCode, Codes>> = {
  malformed: [554, '5.6.0'],
  too_large: [552, '5.3.4'],
  unsupported: [554, '5.6.1'],
  unsigned: [550, '5.7.1'],
  signature_invalid: [550, '5.7.1'],
  signer_mismatch: [550, '5.7.1'],
  expired: [550, '5.7.1'],
  replayed: [550, '5.7.1'],
  forbidden: [550, '5.7.1'],
  no_recipient: [550, '5.1.1'],
  rate_limited: [450, '4.7.1'],
}
const unavailable: Codes = [451, '4.4.3']
const bug: Codes = [451, '4.3.0']

/** The gateway's refusals as SMTP replies: basic and enhanced code (RFC 5321 §4.2, RFC 3463), text safe to show. A bug of ours gives no detail. */
export function toSmtpReply(error: unknown) {
  if (error instanceof Rejection) return formatReply(replies[error.code], withRetry(error))
  if (error instanceof Unavailable) return formatReply(unavailable, error.message)
  return formatReply(bug, 'Cannot accept mail now')
}

/** SMTP has no field for it. */
function withRetry({ message, retryAfter }: Rejection): string {
  return retryAfter === undefined ? message : `${message}; try again in ${Math.max(1, Math.ceil(retryAfter))} s`
}

function formatReply([code, enhanced]: Codes, text: string) {
  return { code, enhanced, text }
}
