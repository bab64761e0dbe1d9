// Opens the simulated mail side: sends mail by SMTP, LMTP or HTTP intake, and receives replies.
import { createTransport } from 'nodemailer'
import type { SimDns } from '../dns/dns.ts'
import type { ConnectedGateway, GatewayReference } from '../gateway-link.ts'
import { requireGateway } from '../gateway-link.ts'
import type { LoopbackAnswer, LoopbackFetch } from '../net/loopback-fetch.ts'
import type { ComposedMail, MailPlan } from './compose.ts'
import { composeMail, mailFaults, stripBrackets } from './compose.ts'
import { openMailDomains } from './domain.ts'
import type { MailRefusal, ReceivedMail } from './sink.ts'
import { openMailSink } from './sink.ts'

interface MailReceipt {
  readonly mail: ComposedMail
  /** The HTTP status of the intake, or the code of the last SMTP reply. */
  readonly answer: number
  readonly text: string
}

/** A few mail domains with their DNS, and a sink for all mail of the gateway. */
export interface SimMail {
  /** The address of the sink, for use as a smarthost. */
  readonly submit: { readonly host: string; readonly port: number }
  compose(plan: MailPlan): Promise<ComposedMail>
  /** Sends a mail to the gateway's SMTP or LMTP listener, or to the given port. */
  sendSmtp(mail: ComposedMail, endpoint?: { readonly port?: number; readonly lmtp?: boolean }): Promise<SmtpAnswer>
  /** Posts a mail to the gateway's `POST /email/inbound`. */
  postIntake(mail: ComposedMail): Promise<LoopbackAnswer>
  /** Composes and sends a mail. With the fault `replayed` it sends the mail twice, and the second answer counts. */
  deliver(plan: MailPlan & { readonly endpoint?: 'smtp' | 'lmtp' | 'intake' }): Promise<MailReceipt>
  /** All mail that the sink accepted, in order. */
  readonly received: readonly ReceivedMail[]
  /** Counts the arrivals of mail with this Message-ID. */
  countArrivals(messageId: string): number
  /** Waits for the mail that answers `messageId`. `until` is a time in ms, or a signal. @throws Error when the wait ends */
  awaitReply(messageId: string, until: number | AbortSignal): Promise<ReceivedMail>
  /** Makes the sink refuse mail. Returns the function that ends the refusal. */
  refuse(refusal: MailRefusal): () => void
  close(): Promise<void>
}

interface MailSystem {
  readonly dns: SimDns
  readonly loopback: LoopbackFetch
  readonly link: GatewayReference
  now(): number
}

export async function openSimMail({ dns, loopback, link, now }: MailSystem): Promise<SimMail> {
  const domains = openMailDomains(dns)
  const sink = await openMailSink()
  const { items } = sink.arrivals
  const sendSmtp: SimMail['sendSmtp'] = (mail, { port = requireSmtpPort(link), lmtp = false } = {}) =>
    submitBySmtp(mail, { port, lmtp })
  const postIntake = (mail: ComposedMail) => postToIntake(mail, requireGateway(link), loopback)
  const endpoints = {
    smtp: (mail: ComposedMail) => sendSmtp(mail).then(readSmtp),
    lmtp: (mail: ComposedMail) => sendSmtp(mail, { lmtp: true }).then(readSmtp),
    intake: (mail: ComposedMail) => postIntake(mail).then(({ status, body }) => ({ answer: status, text: body })),
  }
  return {
    submit: { host: '127.0.0.1', port: sink.port },
    compose: plan => composeMail(plan, { domains, now }),
    sendSmtp,
    postIntake,
    async deliver({ endpoint = link.gateway?.smtpPort ? 'smtp' : 'intake', ...plan }) {
      const mail = await composeMail(plan, { domains, now })
      if (plan.fault && mailFaults[plan.fault].isSentTwice) await endpoints[endpoint](mail)
      return { mail, ...(await endpoints[endpoint](mail)) }
    },
    received: items,
    countArrivals: messageId => items.filter(mail => mail.messageId === stripBrackets(messageId)).length,
    awaitReply: (messageId, until) => sink.arrivals.waitFor(mail => mail.inReplyTo === stripBrackets(messageId), until),
    refuse: sink.refuse,
    close: sink.close,
  }
}

function readSmtp({ code, response }: SmtpAnswer): { answer: number; text: string } {
  return { answer: code, text: response }
}

function requireSmtpPort(link: GatewayReference): number {
  const { smtpPort } = requireGateway(link)
  if (!smtpPort) throw new Error('The gateway has no SMTP listener: connectGateway({ smtpPort }) names it')
  return smtpPort
}

interface SmtpAnswer {
  /** The code of the last reply, which is 250 if the mail was accepted. */
  readonly code: number
  readonly response: string
}

/** Submits finished octets by SMTP or LMTP. @throws Error if there was no reply at all */
async function submitBySmtp(
  mail: ComposedMail,
  { port, lmtp }: { readonly port: number; readonly lmtp: boolean },
): Promise<SmtpAnswer> {
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

/** Posts finished octets like a mail server in front of the gateway. */
function postToIntake(
  mail: ComposedMail,
  { origin, intakeSecret: secret }: ConnectedGateway,
  loopback: LoopbackFetch,
): Promise<LoopbackAnswer> {
  const { envelope, ip, helo, octets } = mail
  const query = new URLSearchParams({ from: envelope.from, ip, helo })
  for (const recipient of envelope.to) query.append('to', recipient)
  return loopback.request(`${origin}/email/inbound?${query}`, {
    method: 'POST',
    headers: { 'content-type': 'message/rfc822', ...(secret && { authorization: `Bearer ${secret}` }) },
    body: octets,
    timeoutMs: 30_000,
  })
}
