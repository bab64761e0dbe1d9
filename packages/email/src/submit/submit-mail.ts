// Hands mail to the smarthost over shared SMTP or LMTP connections.
import type { Log, MailEnvelope, SubmitMail } from '@postern/message'
import type { Transporter } from 'nodemailer'
import type { SubmitConfig } from '../config/servers.ts'
import { toBuffer } from '../mail/buffers.ts'
import { classifySmtpError } from './smtp-error.ts'
import { formatReplyCodes, readSmtpReply } from './smtp-reply.ts'

/** A function that submits mail to one smarthost, which delivers it. */
export type MailSubmitter = SubmitMail & { close(): void }

interface SubmissionResult {
  readonly response?: string | undefined
  readonly rejectedErrors?: readonly unknown[] | undefined
}

/**
 * The longest wait for a connection and its greeting, ms. No mail has been sent by then, so another attempt loses
 * nothing.
 */
const maxGreetingMs = 60_000

type SubmitOptions = Pick<SubmitConfig, 'host' | 'port'> & Partial<SubmitConfig>

/**
 * Creates the submitter. It shares open connections, and loads the library with the first mail.
 * @throws Undeliverable (the call) for a permanent refusal, Unavailable if another attempt may succeed
 */
export function createMailSubmitter(config: SubmitOptions, log: Log): MailSubmitter {
  let transport: Promise<Transporter> | undefined
  const openOnce = () => {
    transport ??= openTransport(config)
    return transport
  }
  const submit = async ({ from, to }: MailEnvelope, octets: Uint8Array) => {
    try {
      const submission: SubmissionResult = await (await openOnce()).sendMail({
        envelope: { from, to: [...to] },
        raw: toBuffer(octets),
      })
      const { response = '', rejectedErrors = [] } = submission
      // With LMTP, the server refuses a recipient after the message, when the library already treats the mail as sent.
      if (rejectedErrors.length > 0) throw rejectedErrors[0]
      const code = Number(/^\d{3}/.exec(response)?.[0] ?? 250)
      return { response: formatReplyCodes(code, response), reply: readSmtpReply({ response }) }
    } catch (error) {
      log.warn({ err: error, host: config.host, port: config.port }, 'smarthost did not take mail')
      throw classifySmtpError(error)
    }
  }
  return Object.assign(submit, {
    close: () => void transport?.then(openedTransport => openedTransport.close()),
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
    // TLS protects nothing on the local machine. To another machine, the password is never sent in the clear.
    ignoreTLS: isLocal && !secure,
    requireTLS: !isLocal && user !== undefined,
    ...(user !== undefined && { auth: { user, pass: password ?? '' } }),
    maxConnections: max_connections,
    maxMessages: Number.POSITIVE_INFINITY,
    connectionTimeout: Math.min(timeout_ms, maxGreetingMs),
    greetingTimeout: Math.min(timeout_ms, maxGreetingMs),
    socketTimeout: timeout_ms,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}
