import type {
  AgentDirectory,
  ChannelContext,
  Delivery,
  DeliveryReply,
  Log,
  LookupStore,
  MailEnvelope,
  SubmitMail,
  Transmitted,
} from '@postern/core'
import { createSender, escapeHtml, isoTime, lazy, Unavailable, Undeliverable } from '@postern/core'
import type { Transporter } from 'nodemailer'
import { isDeadAddress } from './bounces/bounce.ts'
import type { SubmitConfig } from './config/servers.ts'
import type { DkimSigner } from './dkim/own-keys.ts'
import type { AddressTokens } from './mail/addresses.ts'
import { hopField } from './mail/addresses.ts'
import { toBuffer } from './mail/octets.ts'
import { giveToLocalAgent } from './out/local-agent.ts'
import type { MailAttachment, MailWire } from './out/mail-wire.ts'
import { recordSuppression, unaskedPeer } from './out/suppression.ts'
import { addressMail } from './out/target.ts'
import type { MailRendering } from './render.ts'
import { describeMail, renderMail } from './render.ts'
import { emailDescriptor } from './speaker.ts'
import { safeFileName } from './text/file-name.ts'

const dayMs = 24 * 3_600_000

interface MailDelivering {
  readonly gateway: Pick<ChannelContext, 'admission' | 'store' | 'platform'>
  readonly agents: AgentDirectory
  readonly signer: DkimSigner
  readonly config: { readonly reply_tokens: boolean }
  openTokens(): Promise<AddressTokens>
}

/** Mail on its way out: addressed, rendered, delivered. */
export function createMailSender(rendering: MailRendering, delivering: MailDelivering) {
  const { agents, maxHops } = rendering
  return createSender({
    descriptor: emailDescriptor,
    address: answered => addressMail(answered, agents, maxHops),
    render: delivery => renderMail(delivery, rendering),
    describe: describeMail,
    deliver: (wire, delivery) => deliverMail(wire, delivery, delivering),
  })
}

/**
 * Encodes, signs and hands over to the smarthost. Each mail has its own envelope sender, so a bounce names its delivery
 * (VERP). Sent means that the smarthost accepted the mail.
 * @throws Unavailable, Undeliverable
 */
async function deliverMail(wire: MailWire, delivery: Delivery, delivering: MailDelivering): Promise<Transmitted> {
  const { gateway, signer } = delivering
  const tokens = await delivering.openTokens()
  const message = await encodeMail(wire, markMail(wire, delivery, delivering, tokens), gateway.store)
  if (wire.localAgent)
    return giveToLocalAgent({ message, wire, delivery, localAgent: wire.localAgent }, gateway, delivering.agents)
  await refuseSuppressed(delivery, wire, gateway)
  const signed = await signer.sign(message, chooseSigningTime(wire, delivery))
  const from = tokens.bounceAddress(delivery.agent, delivery.id)
  try {
    const { response, reply } = await gateway.platform.submitMail({ ...wire.envelope, from }, signed)
    return { note: response, ...reply }
  } catch (error) {
    if (error instanceof Undeliverable && error.isDeadAddress) await suppress(wire, delivery, error, delivering)
    throw error
  }
}

/** Refused at once as it would be by a report: nothing more is sent there, for the good name of everything else. */
async function suppress(
  { envelope: { to } }: MailWire,
  { agent, id }: Delivery,
  { message }: Undeliverable,
  { gateway, agents }: MailDelivering,
): Promise<void> {
  const [peer = ''] = to
  const effect = { kind: 'relate', relation: 'suppressed', peer, target: message } as const
  const words = `No more mail to ${peer}: ${message}.`
  await recordSuppression({ agent, id: `refused:${id}`, words, flag: 'bounce_hard', effect }, { ...gateway, agents })
}

/**
 * The instant of the mail, so that each try sends the same octets. A mail that is resumed after days, beyond the life
 * of its signature, gets the instant of that try.
 */
function chooseSigningTime({ date }: MailWire, { queuedAt }: Delivery): string {
  return queuedAt > Date.parse(date) + dayMs ? isoTime(queuedAt) : date
}

function markMail(wire: MailWire, { agent }: Delivery, { agents, config }: MailDelivering, tokens: AddressTokens) {
  const [id = ''] = wire.messageId.split('@')
  const tag = wire.replyTo?.split('@')[0]?.slice(agent.length + 1)
  const plan = { response: id, tag, at: Date.parse(wire.date) }
  const own = config.reply_tokens ? tokens.replyAddress(agent, plan) : undefined
  const [mailbox = ''] = wire.envelope.to
  const unsubscribeUrl =
    wire.isLetter && agents.origin.startsWith('https:')
      ? `${agents.origin}/email/unsubscribe/${agent}/${tokens.formatUnsubscription({ agent, mailbox })}`
      : undefined
  return { replyTo: own ?? wire.replyTo, hop: tokens.formatHop(agent, wire, id), unsubscribeUrl }
}

/** Mail that bounces or gets complaints is suppressed: it harms the reputation of all other mail. */
async function refuseSuppressed(
  { agent }: Delivery,
  { envelope, isLetter }: MailWire,
  { store }: Pick<ChannelContext, 'store'>,
): Promise<void> {
  const [peer = ''] = envelope.to
  const find = (to: string) => store.findRelation({ via: 'email', agent, relation: 'suppressed', peer: to })
  const found = (await find(peer)) ?? (isLetter ? await find(unaskedPeer(peer)) : undefined)
  if (!found) return
  const reason = typeof found.target === 'string' ? found.target : 'suppressed'
  throw new Undeliverable(`Cannot send mail: this address is suppressed (${reason})`)
}

/** Receivers commonly take 25 MB, and base64 makes four octets of three. */
const maxAttached = 18 * 1024 * 1024

/** The fields that only this gateway can write, signed with its key. */
interface MailMarks {
  /** The address for answers, when it is not the sender's. */
  readonly replyTo: string | undefined
  /** The hop field: by it our mail is known when it comes back. */
  readonly hop: string
  /** By it the recipient ends mail that was not asked for. */
  readonly unsubscribeUrl: string | undefined
}

/** Loaded with the first mail; naming it anew with each would be looked up anew. */
const loadComposer = lazy(() => import('nodemailer/lib/mail-composer'))

/**
 * The mail as octets: text and HTML alternatives, files beside them, every header our own. Nothing in it depends on the
 * moment, so a second try sends the same octets. The words go out in any case: a file that is gone or too large is
 * named instead.
 */
async function encodeMail(wire: MailWire, marks: MailMarks, store: Pick<LookupStore, 'findBlob'>): Promise<Buffer> {
  const loaded = await Promise.all(wire.attachments.map((file, index) => loadAttachment(file, index, store)))
  const { attachments, missing } = chooseAttached(loaded)
  const { default: MailComposer } = await loadComposer()
  const composer = new MailComposer({
    ...headerOf(wire, marks),
    text: [wire.text, ...missing].join('\n\n'),
    html: missing.length > 0 ? appendNotes(wire.html, missing) : wire.html,
    attachments,
    textEncoding: 'quoted-printable',
    disableFileAccess: true,
    disableUrlAccess: true,
    newline: '\r\n',
    baseBoundary: wire.messageId.replace(/[^0-9a-z]/gi, '').slice(0, 40),
  } as ConstructorParameters<typeof MailComposer>[0])
  return composer.compile().build()
}

function headerOf(wire: MailWire, { replyTo, hop, unsubscribeUrl }: MailMarks) {
  const { from, to, alsoTo, cc, isLetter, subject, messageId, inReplyTo, references, threadTopic, threadIndex, date } =
    wire
  return {
    from,
    to: [to, ...alsoTo],
    ...(cc.length > 0 && { cc: [...cc] }),
    ...(replyTo && { replyTo }),
    subject,
    date: new Date(date),
    messageId: `<${messageId}>`,
    ...(inReplyTo && { inReplyTo: `<${inReplyTo}>` }),
    ...(references.length > 0 && { references: references.map(id => `<${id}>`) }),
    headers: {
      // RFC 3834 §5: automatic mail declares itself, and asks other machines not to answer it.
      'Auto-Submitted': isLetter ? 'auto-generated' : 'auto-replied',
      'X-Auto-Response-Suppress': 'All',
      [hopField]: hop,
      // RFC 8058: one click in the reader's mail program.
      ...(unsubscribeUrl && {
        'List-Unsubscribe': { prepared: true, value: `<${unsubscribeUrl}>` },
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      }),
      ...(threadTopic && { 'Thread-Topic': threadTopic }),
      ...(threadIndex && { 'Thread-Index': threadIndex }),
    },
  }
}

async function loadAttachment(
  { name, mime, bytes_ref }: MailAttachment,
  index: number,
  store: Pick<LookupStore, 'findBlob'>,
) {
  const filename = safeFileName(name, index)
  const contentType = /^[\w.+-]+\/[\w.+-]+$/.test(mime) ? mime : 'application/octet-stream'
  if (bytes_ref.kind === 'inline')
    return { filename, contentType, content: Buffer.from(bytes_ref.data_base64, 'base64') }
  const blob = await store.findBlob(bytes_ref.digest)
  return { filename, contentType, content: blob && Buffer.from(blob.bytes) }
}

type Loaded = Awaited<ReturnType<typeof loadAttachment>>

/** As many files as fit, in their order; a line for each of the others. */
function chooseAttached(loaded: readonly Loaded[]) {
  const attachments: (Loaded & { readonly content: Buffer })[] = []
  const missing: string[] = []
  let room = maxAttached
  for (const { content, ...file } of loaded) {
    if (content === undefined) missing.push(`${file.filename}: this file is not stored any more.`)
    else if (content.length > room) missing.push(`${file.filename}: this file is too large for a mail.`)
    else {
      attachments.push({ ...file, content })
      room -= content.length
    }
  }
  return { attachments, missing }
}

function appendNotes(html: string, notes: readonly string[]): string {
  const lines = notes.map(note => `<p>${escapeHtml(note)}</p>`).join('')
  const end = html.lastIndexOf('</body>')
  return end < 0 ? html + lines : html.slice(0, end) + lines + html.slice(end)
}

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
