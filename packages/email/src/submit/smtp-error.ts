// Classifies the errors of an SMTP client as permanent or temporary.
import { Unavailable, Undeliverable } from '@postern/message'
import { isDeadAddress } from '../bounces/bounce.ts'
import { formatReplyCodes, readSmtpReply } from './smtp-reply.ts'

/** The fields of an SMTP client's error. */
interface SmtpError {
  readonly code?: string
  readonly responseCode?: number | undefined
  readonly response?: string | undefined
  readonly message?: string
  /** The command that failed. `CONN` is the greeting. */
  readonly command?: string
}

/**
 * The error codes for an unusable message or address, without a reply of the server. All other errors are temporary.
 */
const permanentCodes: ReadonlySet<string> = new Set(['EENVELOPE', 'EMESSAGE'])

/**
 * The error codes for problems of the gateway's own account. After an operator has fixed them, the mail is still sent.
 */
const accountCodes: ReadonlySet<string> = new Set(['EAUTH', 'ENOAUTH', 'EOAUTH2', 'ETLS', 'EREQUIRETLS'])

/**
 * The commands before the first mail. A refusal of these commands concerns the gateway itself (RFC 5321 §3.1), and an
 * operator can fix the cause.
 */
const greetingCommands: ReadonlySet<string> = new Set(['CONN', 'EHLO', 'HELO'])

/** Classifies a failed submission (RFC 5321 §4.2.1: codes with 5 are permanent, and codes with 4 temporary). */
export function classifySmtpError(error: unknown): Unavailable | Undeliverable {
  const { code = '', responseCode, response, message, command = '' } = (error ?? {}) as SmtpError
  const reply = formatReplyCodes(responseCode, response ?? message ?? '')
  const { status, reply_line: replyLine } = readSmtpReply({ responseCode, response })
  const replyDetails = { cause: error, replyLine, ...(status !== undefined && { status }) }
  if (accountCodes.has(code))
    return new Unavailable(`the mail server did not accept our login or TLS (${reply || code})`, {
      ...replyDetails,
      replyLine: reply,
    })
  if (
    responseCode !== undefined &&
    responseCode >= 500 &&
    !greetingCommands.has(command) &&
    !isAboutSender(command, responseCode)
  )
    return new Undeliverable(`the mail server refused it: ${reply}`, {
      ...replyDetails,
      isDeadAddress: isDeadAddress(reply.slice(4)),
    })
  if (responseCode !== undefined) return new Unavailable(`the mail server put it off: ${reply}`, replyDetails)
  if (permanentCodes.has(code))
    return new Undeliverable(`the mail cannot be sent to this address (${code})`, replyDetails)
  return new Unavailable(`the mail server could not be reached (${code || 'unknown'})`, replyDetails)
}

/**
 * Returns true if a refusal concerns the gateway's sender and not the mail. If a smarthost refuses the sender (553, 550 5.7.1), one of
 * the two configurations is wrong. Only a refusal of the size concerns the mail.
 */
function isAboutSender(command: string, responseCode: number): boolean {
  return command === 'MAIL FROM' && responseCode !== 552
}
