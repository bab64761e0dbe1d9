import { createTransport } from 'nodemailer'
import type { LoopbackFetch } from '../net/loopback-fetch.ts'
import type { ComposedMail } from './compose.ts'

export interface SmtpAnswer {
  /** The last reply's code: 250 when the mail was taken. */
  readonly code: number
  readonly response: string
}

interface SmtpEndpoint {
  readonly port: number
  /** Speaks LMTP instead of SMTP. */
  readonly lmtp?: boolean | undefined
}

/** Hands finished octets over by SMTP. @throws Error when there was no reply at all */
export async function submitBySmtp(mail: ComposedMail, { port, lmtp = false }: SmtpEndpoint): Promise<SmtpAnswer> {
  const transport = createTransport({ host: '127.0.0.1', port, lmtp, secure: false, ignoreTLS: true, name: mail.helo })
  try {
    const envelope = { from: mail.envelope.from, to: [...mail.envelope.to] }
    const { response } = await transport.sendMail({ envelope, raw: mail.octets })
    return { code: Number(response.slice(0, 3)), response }
  } catch (error) {
    const { responseCode, response } = error as { responseCode?: number; response?: string }
    if (responseCode === undefined) throw error
    return { code: responseCode, response: response ?? '' }
  } finally {
    transport.close()
  }
}

export interface IntakeAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

interface IntakeEndpoint {
  /** `https://agents.test` */
  readonly origin: string
  readonly secret: string | undefined
}

/** Posts finished octets as a mail server in front of the gateway does. */
export async function postToIntake(
  mail: ComposedMail,
  { origin, secret }: IntakeEndpoint,
  loopback: LoopbackFetch,
): Promise<IntakeAnswer> {
  const { envelope, ip, helo, octets } = mail
  const query = new URLSearchParams({ from: envelope.from, ip, helo })
  for (const recipient of envelope.to) query.append('to', recipient)
  const { status, headers, body } = await loopback.request(`${origin}/email/inbound?${query}`, {
    method: 'POST',
    headers: { 'content-type': 'message/rfc822', ...(secret && { authorization: `Bearer ${secret}` }) },
    body: octets,
    timeoutMs: 30_000,
  })
  return { status, headers, body: body.toString() }
}
