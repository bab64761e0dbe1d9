// Composes a mail of the simulation and signs it with DKIM, honest or with a fault.
import { randomUUID } from 'node:crypto'
import { createTransport } from 'nodemailer'
import type { Fault } from '../fault.ts'
import { signMail } from './dkim.ts'
import type { MailDomain } from './domain.ts'
import { domainOf } from './domain.ts'

export interface MailPlan {
  /** The author, such as `alice@alice.test` or `Alice <alice@alice.test>`. Default: Alice. */
  readonly from?: string | undefined
  readonly to: string | readonly string[]
  readonly cc?: readonly string[] | undefined
  readonly subject?: string | undefined
  readonly text?: string | undefined
  readonly html?: string | undefined
  /** The Message-ID, with or without angle brackets. */
  readonly inReplyTo?: string | undefined
  readonly references?: readonly string[] | undefined
  readonly messageId?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly attachments?:
    | readonly { readonly filename: string; readonly contentType?: string; readonly content: string | Buffer }[]
    | undefined
  /** True to sign with the DKIM key of the author's domain. Default: true. */
  readonly sign?: boolean | undefined
  /** The names of the header fields that the signature covers. Default: nodemailer's list. */
  readonly signedFields?: readonly string[] | undefined
  /** The time in `Date`. Default: now. */
  readonly date?: Date | undefined
  readonly envelopeFrom?: string | undefined
  readonly fault?: Fault | undefined
  /** The padding of the fault `oversized`, in bytes. Default: 26 MiB. */
  readonly oversizedBytes?: number | undefined
}

export interface MailEnvelopePlan {
  readonly from: string
  readonly to: readonly string[]
}

export interface ComposedMail {
  /** The whole message, with CRLF line ends. */
  readonly octets: Buffer
  /** The Message-ID without angle brackets. */
  readonly messageId: string
  readonly envelope: MailEnvelopePlan
  /** The address of the sending host, for SPF. */
  readonly ip: string
  readonly helo: string
}

type MailDomains = ReadonlyMap<string, MailDomain>

interface ComposeDeps {
  readonly domains: MailDomains
  now(): number
}

const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })

/** Composes and signs an RFC 5322 message. Nodemailer signs it, except for faults that nodemailer cannot produce. */
export async function composeMail(plan: MailPlan, { domains, now }: ComposeDeps): Promise<ComposedMail> {
  const fault: MailFault = plan.fault ? mailFaults[plan.fault] : {}
  const from = fault.from ?? plan.from ?? 'Alice <alice@alice.test>'
  const author = mailboxOf(from)
  const to = [plan.to].flat().map(address => (fault.unknownRecipient ? inventMailbox(address) : address))
  const messageId = stripBrackets(plan.messageId ?? `${randomUUID()}@${domainOf(author)}`)
  const isSigned = plan.sign !== false && !fault.isUnsigned
  const domain = findDomain(fault.signer ?? domainOf(author), domains)
  const isSignedByNodemailer = isSigned && !fault.shape && !fault.lifetime && !fault.keyOf
  const draftedMail = await draftMail(
    { date: new Date(now()), ...plan, from, to, messageId },
    isSignedByNodemailer ? domain : undefined,
  )
  const shapedMail = fault.shape?.(draftedMail, { oversizedBytes: plan.oversizedBytes ?? 26 * 2 ** 20 }) ?? draftedMail
  const signedMail =
    isSigned && !isSignedByNodemailer
      ? await signWithOwnSigner(shapedMail, { fault, domain, domains, now })
      : shapedMail
  const envelopeFrom = fault.envelopeFrom ?? plan.envelopeFrom ?? author
  return {
    octets: fault.alter?.(signedMail) ?? signedMail,
    messageId,
    envelope: { from: envelopeFrom, to: [...to, ...(plan.cc ?? [])].map(mailboxOf) },
    ip: '127.0.0.1',
    helo: `mx.${domainOf(envelopeFrom)}`,
  }
}

async function draftMail(
  plan: MailPlan & { readonly from: string; readonly to: readonly string[]; readonly messageId: string },
  signer: MailDomain | undefined,
): Promise<Buffer> {
  const { from, to, cc, subject = 'Hello', text, html, inReplyTo, references, attachments, headers } = plan
  const dkim = signer && {
    domainName: signer.name,
    keySelector: signer.selector,
    privateKey: (await signer.key()).privatePem,
    ...(plan.signedFields && { headerFieldNames: plan.signedFields.join(':') }),
  }
  const { message } = await composer.sendMail({
    from,
    to: [...to],
    subject,
    date: plan.date,
    messageId: `<${plan.messageId}>`,
    text: text ?? '',
    ...(cc && { cc: [...cc] }),
    ...(html && { html }),
    ...(inReplyTo && { inReplyTo: `<${stripBrackets(inReplyTo)}>` }),
    ...(references && { references: references.map(id => `<${stripBrackets(id)}>`) }),
    ...(attachments && { attachments: [...attachments] }),
    ...(headers && { headers: { ...headers } }),
    ...(dkim && { dkim }),
  })
  return message as Buffer
}

interface SigningInput {
  readonly fault: MailFault
  readonly domain: MailDomain
  readonly domains: MailDomains
  now(): number
}

async function signWithOwnSigner(octets: Buffer, { fault, domain, domains, now }: SigningInput): Promise<Buffer> {
  // The real key is published first, so that verification compares a forged signature with it instead of finding no key.
  const ownKey = await domain.key()
  const { privatePem } = fault.keyOf ? await findDomain(fault.keyOf, domains).key() : ownKey
  const seconds = Math.floor(now() / 1000)
  const { from, to } = fault.lifetime ?? { from: 0, to: undefined }
  return signMail(octets, {
    domain: domain.name,
    selector: domain.selector,
    privatePem,
    signedAt: seconds + from,
    ...(to !== undefined && { expiresAt: seconds + to }),
  })
}

function findDomain(name: string, domains: MailDomains): MailDomain {
  const domain = domains.get(name)
  if (!domain) throw new Error(`No mail is sent from ${name} here; there are ${[...domains.keys()].join(', ')}`)
  return domain
}

/** Returns the address of a mailbox, for example `alice@alice.test` for `Alice <alice@alice.test>`. */
function mailboxOf(text: string): string {
  return text.match(/<([^>]*)>\s*$/)?.[1] ?? text.trim()
}

function inventMailbox(address: string): string {
  return `no-such-agent@${domainOf(mailboxOf(address))}`
}

export function stripBrackets(messageId: string): string {
  return messageId.trim().replace(/^<|>$/g, '')
}

/** The differences of a faulty mail from an honest one. */
interface MailFault {
  /** The address in `From`, if the fault needs a particular one. */
  readonly from?: string
  /** The envelope's sender, which SPF checks. Default: the author. */
  readonly envelopeFrom?: string
  /** The domain whose DKIM key signs. Default: the author's domain. */
  readonly signer?: string
  /** The domain whose key signs under the author's domain and selector. Default: the author's domain. */
  readonly keyOf?: string
  readonly isUnsigned?: boolean
  /** The signing time and expiry of the signature, in seconds from now, for `t=` and `x=`. */
  readonly lifetime?: { readonly from: number; readonly to: number }
  /** True to send the same octets once more. */
  readonly isSentTwice?: boolean
  readonly unknownRecipient?: boolean
  /** Changes the mail before signing. */
  shape?(octets: Buffer, faulty: { readonly oversizedBytes: number }): Buffer
  /** Changes the mail after signing. */
  alter?(octets: Buffer): Buffer
}

const attacker = 'mallory@evil.test'
const hourSeconds = 3_600

/**
 * The faults of mail. Each mail has a single defect. A mail with a faulty proof of the author's domain comes through the attacker's host, because
 * SPF would prove a mail from the author's own host.
 */
export const mailFaults: Readonly<Record<Fault, MailFault>> = {
  unsigned: { isUnsigned: true },
  tampered: { envelopeFrom: attacker, alter: octets => Buffer.concat([octets, Buffer.from('One line more.\r\n')]) },
  forged: { envelopeFrom: attacker, keyOf: 'evil.test' },
  expired: { envelopeFrom: attacker, lifetime: { from: -48 * hourSeconds, to: -24 * hourSeconds } },
  replayed: { isSentTwice: true },
  wrong_owner: { envelopeFrom: attacker, signer: 'evil.test' },
  oversized: { shape: (octets, { oversizedBytes }) => Buffer.concat([octets, fillLines(oversizedBytes)]) },
  deep: { shape: octets => nestParts(octets, 200) },
  malformed: {
    envelopeFrom: attacker,
    alter: octets => Buffer.concat([Buffer.from(`From: <${attacker}>\r\n`), octets]),
  },
  key_host_down: { from: 'alice@dead.test', envelopeFrom: attacker },
  unknown_recipient: { unknownRecipient: true },
}

function fillLines(bytes: number): Buffer {
  return Buffer.alloc(Math.ceil(bytes / 78) * 78, `${'x'.repeat(76)}\r\n`)
}

/** Nests the body in multiparts. */
function nestParts(octets: Buffer, depth: number): Buffer {
  const text = octets.toString('latin1')
  const [head = '', ...body] = text.split('\r\n\r\n')
  const fields = head.split(/\r\n(?![ \t])/).filter(field => !/^content-/i.test(field))
  const levels = Array.from({ length: depth }, (_, level) => `level-${level}`)
  const openings = levels.map(
    boundary => `Content-Type: multipart/mixed; boundary="${boundary}"\r\n\r\n--${boundary}\r\n`,
  )
  const closings = levels.map(boundary => `\r\n--${boundary}--`).reverse()
  const inner = `Content-Type: text/plain; charset=utf-8\r\n\r\n${body.join('\r\n\r\n')}`
  return Buffer.from(`${fields.join('\r\n')}\r\n${openings.join('')}${inner}${closings.join('')}\r\n`, 'latin1')
}
