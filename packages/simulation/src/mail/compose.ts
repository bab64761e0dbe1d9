import { randomUUID } from 'node:crypto'
import { createTransport } from 'nodemailer'
import type { Fault } from '../fault.ts'
import { signMail } from './dkim.ts'
import type { MailDomain } from './domain.ts'
import { domainOf } from './domain.ts'
import type { MailFault } from './mail-fault.ts'
import { mailFaults } from './mail-fault.ts'

export interface MailPlan {
  /** `alice@alice.test` unless said otherwise; `Alice <alice@alice.test>` is fine too. */
  readonly from?: string | undefined
  readonly to: string | readonly string[]
  readonly cc?: readonly string[] | undefined
  readonly subject?: string | undefined
  readonly text?: string | undefined
  readonly html?: string | undefined
  /** With or without angle brackets. */
  readonly inReplyTo?: string | undefined
  readonly references?: readonly string[] | undefined
  readonly messageId?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly attachments?:
    | readonly { readonly filename: string; readonly contentType?: string; readonly content: string | Buffer }[]
    | undefined
  /** Default true: with the DKIM key of the author's domain. */
  readonly sign?: boolean | undefined
  /** Names of the fields that the signature covers; default nearly all there are. */
  readonly signedFields?: readonly string[] | undefined
  /** Default now. */
  readonly date?: Date | undefined
  readonly envelopeFrom?: string | undefined
  readonly fault?: Fault | undefined
  /** Padding of the fault `oversized`; default 26 MiB. */
  readonly oversizedBytes?: number | undefined
}

export interface MailEnvelopePlan {
  readonly from: string
  readonly to: readonly string[]
}

export interface ComposedMail {
  /** The whole message, CRLF line ends. */
  readonly octets: Buffer
  /** Without angle brackets. */
  readonly messageId: string
  readonly envelope: MailEnvelopePlan
  /** The host that hands it over, for SPF. */
  readonly ip: string
  readonly helo: string
}

export interface MailComposer {
  readonly domains: ReadonlyMap<string, MailDomain>
  now(): number
}

const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })

/** Writes an RFC 5322 message and signs it: nodemailer does both unless the fault needs more. */
export async function composeMail(plan: MailPlan, { domains, now }: MailComposer): Promise<ComposedMail> {
  const fault: MailFault = plan.fault ? mailFaults[plan.fault] : {}
  const from = fault.from ?? plan.from ?? 'Alice <alice@alice.test>'
  const author = mailboxOf(from)
  const to = [plan.to].flat().map(address => (fault.unknownRecipient ? inventMailbox(address) : address))
  const messageId = stripBrackets(plan.messageId ?? `${randomUUID()}@${domainOf(author)}`)
  const isSigned = plan.sign !== false && !fault.unsigned
  const signing = { fault, domain: findDomain(fault.signer ?? domainOf(author), domains), domains, now }
  const isPlain = isSigned && !fault.shape && !fault.lifetime && !fault.keyOf
  const drafted = await draftMail({ ...plan, from, to, messageId }, now(), isPlain ? signing.domain : undefined)
  const shaped = fault.shape?.(drafted, { oversizedBytes: plan.oversizedBytes ?? 26 * 2 ** 20 }) ?? drafted
  const signed = isSigned && !isPlain ? await signByHand(shaped, signing) : shaped
  const envelopeFrom = fault.envelopeFrom ?? plan.envelopeFrom ?? author
  return {
    octets: fault.alter?.(signed) ?? signed,
    messageId,
    envelope: { from: envelopeFrom, to: [...to, ...(plan.cc ?? [])].map(mailboxOf) },
    ip: '127.0.0.1',
    helo: `mx.${domainOf(envelopeFrom)}`,
  }
}

async function draftMail(
  plan: MailPlan & { readonly from: string; readonly to: readonly string[]; readonly messageId: string },
  at: number,
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
    date: plan.date ?? new Date(at),
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

interface Signing {
  readonly fault: MailFault
  readonly domain: MailDomain
  readonly domains: ReadonlyMap<string, MailDomain>
  now(): number
}

async function signByHand(octets: Buffer, { fault, domain, domains, now }: Signing): Promise<Buffer> {
  // The real key is published first: a forged signature must fail against it, not for want of it.
  const own = await domain.key()
  const { privatePem } = fault.keyOf ? await findDomain(fault.keyOf, domains).key() : own
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

function findDomain(name: string, domains: ReadonlyMap<string, MailDomain>): MailDomain {
  const domain = domains.get(name)
  if (!domain) throw new Error(`No mail is sent from ${name} here; there are ${[...domains.keys()].join(', ')}`)
  return domain
}

/** `Alice <alice@alice.test>` → `alice@alice.test` */
function mailboxOf(text: string): string {
  return text.match(/<([^>]*)>\s*$/)?.[1] ?? text.trim()
}

function inventMailbox(address: string): string {
  return `no-such-agent@${domainOf(mailboxOf(address))}`
}

export function stripBrackets(messageId: string): string {
  return messageId.trim().replace(/^<|>$/g, '')
}
