import type { DeliveryReply, Log, MailEnvelope, SubmitMail } from '@postern/core'
import { Unavailable, Undeliverable } from '@postern/core'
import type { Transporter } from 'nodemailer'
import { isDeadAddress } from '../bounces/bounce.ts'
import type { SubmitConfig } from '../config/servers.ts'
import { toBuffer } from '../mail/octets.ts'

/** Hands mail to one smarthost, which does the rest (MX, TLS, reputation). */
export type MailSubmitter = SubmitMail & { close(): void }

/** The fields of an SMTP client's error. */
interface SmtpError {
  readonly code?: string
  readonly responseCode?: number | undefined
  readonly response?: string | undefined
  readonly message?: string
  /** The command that failed; `CONN` is the greeting. */
  readonly command?: string
}

interface Sent {
  readonly response?: string | undefined
  readonly rejectedErrors?: readonly unknown[] | undefined
}

/** Nothing was handed over yet, so nothing is lost by trying again, ms. */
const longestGreeting = 60_000

type SubmitOptions = Pick<SubmitConfig, 'host' | 'port'> & Partial<SubmitConfig>

/**
 * Connections are kept open and shared. The library is loaded with the first mail.
 * @throws Undeliverable (the call) when the smarthost refused for good, Unavailable when another try makes sense
 */
export function createMailSubmitter(config: SubmitOptions, log: Log): MailSubmitter {
  let transport: Promise<Transporter> | undefined
  const open = () => {
    transport ??= openTransport(config)
    return transport
  }
  const submit = async ({ from, to }: MailEnvelope, octets: Uint8Array) => {
    try {
      const sent: Sent = await (await open()).sendMail({ envelope: { from, to: [...to] }, raw: toBuffer(octets) })
      const { response = '', rejectedErrors = [] } = sent
      // LMTP refuses each recipient after the message, when for the library all has gone well.
      if (rejectedErrors.length > 0) throw rejectedErrors[0]
      const code = Number(/^\d{3}/.exec(response)?.[0] ?? 250)
      return { response: describeStatus(code, response), reply: readReply({ response }) }
    } catch (error) {
      log.warn({ err: error, host: config.host, port: config.port }, 'smarthost did not take mail')
      throw classifySmtpError(error)
    }
  }
  return Object.assign(submit, {
    close: () => void transport?.then(opened => opened.close()),
  })
}

async function openTransport(config: SubmitOptions): Promise<Transporter> {
  const { createTransport } = await import('nodemailer')
  const { host, port, user, password, secure = false, max_connections = 5, timeout_ms = 600_000, protocol } = config
  const isLocal = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/i.test(host)
  return createTransport({
    pool: true,
    lmtp: protocol === 'lmtp',
    host,
    port,
    secure,
    // On this machine TLS proves nothing; elsewhere a password never goes out in the clear.
    ignoreTLS: isLocal && !secure,
    requireTLS: !isLocal && user !== undefined,
    ...(user !== undefined && { auth: { user, pass: password ?? '' } }),
    maxConnections: max_connections,
    maxMessages: Number.POSITIVE_INFINITY,
    connectionTimeout: Math.min(timeout_ms, longestGreeting),
    greetingTimeout: Math.min(timeout_ms, longestGreeting),
    socketTimeout: timeout_ms,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

/** Faults of the message or the address, found before or without a reply; anything else passes with time. */
const permanentCodes: ReadonlySet<string> = new Set(['EENVELOPE', 'EMESSAGE'])
/** Faults of our own account: an operator fixes them, and the mail is still sent. */
const accountCodes: ReadonlySet<string> = new Set(['EAUTH', 'ENOAUTH', 'EOAUTH2', 'ETLS', 'EREQUIRETLS'])

/** A refusal before any mail was named: the smarthost refuses this client (RFC 5321 §3.1), which an operator fixes. */
const openings: ReadonlySet<string> = new Set(['CONN', 'EHLO', 'HELO'])

/** The meaning of a failed hand-over for the mail (RFC 5321 §4.2.1: 5 is for good, 4 is for now). */
export function classifySmtpError(error: unknown): Unavailable | Undeliverable {
  const { code = '', responseCode, response, message, command = '' } = (error ?? {}) as SmtpError
  const reply = describeStatus(responseCode, response ?? message ?? '')
  const { status, reply_line: replyLine } = readReply({ responseCode, response })
  const far = { cause: error, replyLine, ...(status !== undefined && { status }) }
  if (accountCodes.has(code))
    return new Unavailable(`the mail server did not accept our login or TLS (${reply || code})`, {
      ...far,
      replyLine: reply,
    })
  if (responseCode !== undefined && responseCode >= 500 && !openings.has(command) && !isAboutUs(command, responseCode))
    return new Undeliverable(`the mail server refused it: ${reply}`, {
      ...far,
      isDeadAddress: isDeadAddress(reply.slice(4)),
    })
  if (responseCode !== undefined) return new Unavailable(`the mail server put it off: ${reply}`, far)
  if (permanentCodes.has(code)) return new Undeliverable(`the mail cannot be sent to this address (${code})`, far)
  return new Unavailable(`the mail server could not be reached (${code || 'unknown'})`, far)
}

/**
 * When a smarthost refuses our sender (553, 550 5.7.1), one of the two configurations is wrong. Only a refusal of the
 * size concerns the mail.
 */
function isAboutUs(command: string, responseCode: number): boolean {
  return command === 'MAIL FROM' && responseCode !== 552
}

/** Code and enhanced code (RFC 3463) only: a reply's text may name others. */
function describeStatus(code: number | undefined, text: string): string {
  const enhanced = /(?:^|[\s-])([245]\.\d{1,3}\.\d{1,3})(?=\s|$)/.exec(text)?.[1]
  return [code, enhanced].filter(Boolean).join(' ')
}

const maxReply = 200

/** The first line of the server's reply, for the operator. Its text may name others than the recipient: addresses are left out. */
function readReply({ responseCode, response = '' }: Pick<SmtpError, 'responseCode' | 'response'>): DeliveryReply {
  const [line = ''] = response.slice(0, 2_000).split(/[\r\n]/, 1)
  const text = line.replace(/[^\s<>@]+@[^\s<>@]+/g, '…').replace(/\p{Cc}/gu, ' ')
  const status = responseCode ?? (Number(/^\d{3}/.exec(line)?.[0]) || undefined)
  return {
    ...(status !== undefined && { status }),
    ...(text && { reply_line: text.slice(0, maxReply).toWellFormed() }),
  }
}
