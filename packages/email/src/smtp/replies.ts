// Converts refusals and errors to SMTP replies.
import type { RejectionCode } from '@postern/message'
import { Rejection, Unavailable } from '@postern/message'

type Codes = readonly [code: number, enhanced: string]

const replyCodes: Readonly<Record<RejectionCode, Codes>> = {
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
const unavailableCodes: Codes = [451, '4.4.3']
const internalErrorCodes: Codes = [451, '4.3.0']

/**
 * Returns an error as an SMTP reply with a basic and an enhanced code (RFC 5321 §4.2, RFC 3463) and a text that is safe to show. The reply to an
 * internal error has no details.
 */
export function toSmtpReply(error: unknown) {
  if (error instanceof Rejection) return formatReply(replyCodes[error.code], appendRetryDelay(error))
  if (error instanceof Unavailable) return formatReply(unavailableCodes, error.message)
  return formatReply(internalErrorCodes, 'Cannot accept mail now')
}

/**
 * Returns the reply with which the gateway closes a connection in the middle of a message. The code is 421 if another
 * attempt may succeed (RFC 5321 §3.8).
 */
export function toClosingReply(error: unknown) {
  const isPermanent = error instanceof Rejection && error.code !== 'rate_limited'
  return isPermanent ? toSmtpReply(error) : { ...toSmtpReply(error), code: 421, enhanced: '4.4.2' }
}

/** Appends the retry delay to the text, because SMTP has no field for it. */
function appendRetryDelay({ message, retryAfter }: Rejection): string {
  return retryAfter === undefined ? message : `${message}; try again in ${Math.max(1, Math.ceil(retryAfter))} s`
}

function formatReply([code, enhanced]: Codes, text: string) {
  return { code, enhanced, text }
}
