import type {
  AgentDirectory,
  ChannelContext,
  Inbound,
  IntakeSteps,
  Json,
  RefusalClaims,
  RefusalPlace,
} from '@postern/core'
import { createIntakeSteps, hasRefusal, isJsonObject, isoTime, Rejection, receive, recordRefusal } from '@postern/core'
import type { MailLimits } from '../config/limits.ts'
import type { AddressedAgent, AddressReader, AddressTokens, MailAddresses, Mailbox } from '../mail/addresses.ts'
import { countEntries, findRecipient, findRecipients, formatMailbox, readAuthor } from '../mail/addresses.ts'
import type { HeaderBlock } from '../mail/octets.ts'
import { fieldValues, findField, scanHeaders } from '../mail/octets.ts'
import type { MailEnvelopeIn, RawMail } from '../mail/raw.ts'

export type MailIntake = ReturnType<typeof createMailIntake>

/** The work that every mail endpoint does with a message. */
export function createMailIntake<Proven>(inbound: Inbound<RawMail, Proven>, gateway: ChannelContext) {
  const { admission, store, platform, agents } = gateway
  const rawOf = (octets: Uint8Array, envelope: MailEnvelopeIn): RawMail => ({
    octets: withoutMboxLine(octets),
    envelope,
    receivedAt: isoTime(platform.now()),
  })
  const nameThose = ({ claimed_sender: sender, agent, ...place }: RefusalPlace): RefusalPlace => ({
    ...place,
    ...nameClaims({ sender, recipients: agent?.split(', ') ?? [] }, agents),
  })
  const receptionOf = (place: RefusalPlace) => {
    return { admission, store, platform, steps: createIntakeSteps(platform), ...nameThose(place) }
  }
  const record = (error: unknown, place: RefusalPlace) => {
    if (!place.request || !hasRefusal(place.request))
      recordRefusal(error, inbound.name, { store, platform, ...nameThose(place) })
  }
  return {
    /**
     * Durable for every recipient when it resolves. A server that forwards mail for others declares whose it is.
     * @throws Rejection, Unavailable
     */
    take: (octets: Uint8Array, envelope: MailEnvelopeIn, place: RefusalPlace) =>
      receive(inbound, rawOf(octets, envelope), receptionOf({ ...place, from: envelope.ip ?? place.from })),
    /** The same, with an outcome for each recipient of the envelope; the sender is judged once. */
    takeEach(octets: Uint8Array, envelope: MailEnvelopeIn, place: RefusalPlace) {
      const raw = rawOf(octets, envelope)
      const reception = receptionOf(place)
      const proven = inbound.verify(raw, reception.steps)
      return Promise.allSettled(
        envelope.to.map(address => receive(narrowInbound(inbound, proven, findAgent(address)), raw, reception)),
      )
    },
    /** @throws Rejection `no_recipient` */
    checkRecipient(address: string, place: RefusalPlace): void {
      if (findAgent(address)) return
      const rejection = new Rejection('no_recipient', 'Cannot accept mail: no such agent here')
      record(rejection, { ...place, agent: address })
      throw rejection
    },
    /** Remembers a refusal made before a message was read, unless it is remembered already. */
    recordRefusal: record,
  }

  function findAgent(address: string): string | undefined {
    return findRecipient(address, agents)?.agent
  }
}

/** Pipes of mail servers put a line of the mbox format before the message (RFC 4155); it is none of it. */
function withoutMboxLine(octets: Uint8Array): Uint8Array {
  const start = Buffer.from(octets.buffer, octets.byteOffset, Math.min(octets.length, 1024)).toString('latin1')
  const line = /^From [^\s:][^\r\n]*\r?\n/.exec(start)?.[0]
  return line ? octets.subarray(line.length) : octets
}

/** The same endpoint for one agent only, with a proof already under way. */
function narrowInbound<Proven>(
  inbound: Inbound<RawMail, Proven>,
  proven: Promise<Proven>,
  agent: string | undefined,
): Inbound<RawMail, Proven> {
  return {
    name: inbound.name,
    verify: () => proven,
    normalize: mail => inbound.normalize(mail).filter(intake => intake.agent === agent),
  }
}

export interface MailReading {
  readonly gateway: Pick<ChannelContext, 'agents' | 'platform' | 'store'>
  readonly limits: MailLimits
  readonly tokens: Pick<AddressTokens, 'readTag'>
  openAddresses(): Promise<AddressReader>
  readonly steps: IntakeSteps
}

/** A message whose header was read: everything cheap is known, nothing is proven. */
export interface UnprovenMail {
  readonly raw: RawMail
  /** It comes by the null sender to addresses that only reports of our mail come to. */
  readonly isReport: boolean
  readonly header: HeaderBlock
  readonly addresses: MailAddresses
  readonly recipients: readonly AddressedAgent[]
}

/** Header, author and recipients of a message. @throws Rejection */
export async function readUnprovenMail(
  raw: RawMail,
  { gateway, limits, tokens, openAddresses, steps }: MailReading,
): Promise<UnprovenMail> {
  const header = scanHeaders(raw.octets, limits)
  const sender = findField(header, 'from')?.trim() || raw.envelope.from
  // For the list of what was refused.
  steps.claim({
    ...nameClaims({ sender, recipients: raw.envelope.to }, gateway.agents),
    peer_id: findField(header, 'message-id')?.trim(),
  })
  const named = findRecipients(raw.envelope.to, gateway.agents)
  const isReport = raw.envelope.from === '' && areBounceAddresses(named, tokens, gateway.platform.now())
  const addresses = readMailAddresses(header, await openAddresses(), { limits, isReport })
  const recipients = raw.envelope.to.length > 0 ? named : findRecipients(listNamed(header, addresses), gateway.agents)
  if (recipients.length === 0) throw new Rejection('no_recipient', 'Cannot accept mail: no such agent here')
  return { raw, isReport, header, addresses, recipients }
}

function readMailAddresses(
  header: HeaderBlock,
  read: AddressReader,
  { limits, isReport }: { readonly limits: MailLimits; readonly isReport: boolean },
): MailAddresses {
  const author = isReport ? readReporter(header, read) : readAuthor(fieldValues(header, 'from'), read)
  refuseCrowd(header, limits)
  const [replyTo, to, cc] = ['reply-to', 'to', 'cc'].map(name =>
    fieldValues(header, name).flatMap(value => read(value).mailboxes),
  ) as [Mailbox[], Mailbox[], Mailbox[]]
  if (to.length + cc.length > limits.addresses) throw tooManyRecipients(limits)
  return { author, replyTo, to, cc }
}

/** Some servers report without an address: "Mail Delivery Subsystem". The recipient address shows that it is a report. */
function readReporter(header: HeaderBlock, read: AddressReader): Mailbox {
  try {
    return readAuthor(fieldValues(header, 'from'), read)
  } catch {
    return { local: 'mailer-daemon', domain: 'unknown.invalid' }
  }
}

/** With its name, on average. */
const charsPerAddress = 80

/** Parsing addresses delays other work, so far too many are refused unread. A name may hold separators too. */
function refuseCrowd(header: HeaderBlock, limits: MailLimits): void {
  const values = ['reply-to', 'to', 'cc'].flatMap(name => fieldValues(header, name))
  const entries = values.reduce((sum, value) => sum + countEntries(value), 0)
  if (entries > limits.addresses * 4) throw tooManyRecipients(limits)
  if (values.reduce((sum, value) => sum + value.length, 0) > limits.addresses * charsPerAddress) {
    throw new Rejection('malformed', 'Cannot read mail: its recipients are too long')
  }
}

function tooManyRecipients({ addresses }: MailLimits): Rejection {
  return new Rejection('malformed', `Cannot read mail: more than ${addresses} recipients in the header`)
}

/** The envelope decides; only where the transport gave none, what the last hop or the author wrote. */
function listNamed(header: HeaderBlock, { to, cc }: MailAddresses): readonly string[] {
  const delivered = [...fieldValues(header, 'delivered-to'), ...fieldValues(header, 'x-original-to')]
  if (delivered.length > 0) return delivered
  return [...to, ...cc].map(formatMailbox)
}

/** A report about what we sent comes unsigned, in the name of some server; the address it comes to is what we signed. */
function areBounceAddresses(
  recipients: readonly AddressedAgent[],
  tokens: Pick<AddressTokens, 'readTag'>,
  now: number,
): boolean {
  const isBounce = ({ agent, tag }: AddressedAgent) => tokens.readTag(agent, tag, now).token?.kind === 'bounce'
  return recipients.length > 0 && recipients.every(isBounce)
}

/** What the transport said about a mail and what was known of it here, to read the mail once more. */
export function recordEnvelope({ envelope }: RawMail, known: readonly string[]): Json {
  const { from, to, ip, helo, endpoint, source } = envelope
  return {
    to: [...to],
    ...(from !== undefined && { from }),
    ...(ip !== undefined && { ip }),
    ...(helo !== undefined && { helo }),
    ...(endpoint && { endpoint }),
    ...(source && { source: { ...source } as unknown as Json }),
    ...(known.length > 0 && { known: [...known] }),
  }
}

/** Undefined when it is no record of an envelope. */
export function restoreEnvelope(record: Json): Pick<RawMail, 'envelope' | 'known'> | undefined {
  if (!isJsonObject(record) || !Array.isArray(record.to)) return undefined
  const { known, ...envelope } = record
  return {
    envelope: envelope as unknown as RawMail['envelope'],
    known: Array.isArray(known) ? known.map(String) : [],
  }
}

/** What a mail says of itself, in the words of stored messages: `@alice@alice.test`, an agent's name. What is not readable stays as it is. */
function nameClaims(
  { sender, recipients }: { readonly sender?: string | undefined; readonly recipients: readonly string[] },
  agents: AgentDirectory,
): Pick<RefusalClaims, 'claimed_sender' | 'agent'> {
  const named = [...new Set(recipients.map(address => nameRecipient(address, agents)))]
  return {
    ...(sender && { claimed_sender: nameSender(sender) }),
    ...(named.length > 0 && { agent: named.join(', ') }),
  }
}

function nameSender(field: string): string {
  const [, inAngles, alone] =
    /^(?:[^<>]*<([^<>@\s]+@[^<>@\s]+)>|([^<>@\s,;:"]+@[^<>@\s,;:"]+))$/.exec(field.trim()) ?? []
  const address = inAngles ?? alone
  return address === undefined ? field : `@${address}`
}

/** Also of an agent that is not there. */
function nameRecipient(address: string, agents: AgentDirectory): string {
  const known = findRecipient(address, agents)
  if (known) return known.agent
  const [local, domain, more] = address.toLowerCase().split('@')
  return local && domain === agents.domain && more === undefined ? (local.split('+')[0] ?? local) : address
}

/** The place of a message in a conversation, by its header. All ids without brackets. */
export interface MailThread {
  /** The message's own id: its Message-ID where that is covered, else `sha256:…`. */
  readonly id: string
  /** The Message-ID, if it has exactly one usable. */
  readonly messageId?: string | undefined
  readonly threadId: string
  readonly inReplyTo?: string | undefined
  /** Earlier ids, best first, to look the thread up by. */
  readonly references: readonly string[]
  /** Another name of the message: Outlook's conversation. */
  readonly aliases: readonly string[]
}

/**
 * The root is the first reference, else what is answered, else the message itself (EM-4.2). Only covered fields decide; a
 * Message-ID that is not is quoted in an answer and names nothing.
 */
export function readThread(
  { header, covered }: Readonly<Record<'header' | 'covered', HeaderBlock>>,
  digest: string,
): MailThread {
  const messageId = readOwnId(header)
  const id = readOwnId(covered) ?? `sha256:${digest}`
  const chain = trimReferences(readMessageIds(fieldValues(covered, 'references').join(' ')))
  const answered = readMessageIds(findField(covered, 'in-reply-to') ?? '')[0]
  const conversation = readConversation(findField(covered, 'thread-index'))
  const references = [...chain, ...(answered ? [answered] : []), ...(conversation ? [conversation] : [])]
  return {
    id,
    messageId,
    threadId: chain[0] ?? answered ?? id,
    inReplyTo: answered ?? chain.at(-1),
    references: [...new Set(references)].filter(reference => reference !== id),
    aliases: conversation ? [conversation] : [],
  }
}

/** The Message-ID, if it has exactly one usable. */
export function readOwnId(header: HeaderBlock): string | undefined {
  const values = fieldValues(header, 'message-id')
  const ids = values.flatMap(readMessageIds)
  return values.length === 1 && ids.length === 1 ? ids[0] : undefined
}

/** Outlook's Thread-Index: 6 octets of time, the 16 of the conversation, then 5 for each answer. */
function readConversation(value: string | undefined): string | undefined {
  if (!value || value.length > 4096) return undefined
  const octets = Buffer.from(value, 'base64')
  return octets.length >= 22 ? `thread-index:${octets.subarray(6, 22).toString('hex')}` : undefined
}

/**
 * Ids without brackets, in order. Commas and junk between them are ignored (RFC 5322 §3.6.4 in practice); one that does not
 * fit a line together with its field's name (RFC 5322 §2.1.1) could not be quoted in an answer, and is none.
 */
function readMessageIds(value: string): string[] {
  return Array.from(value.matchAll(/<([^<>\s\p{Cc}]{1,900})>/gu), match => match[1] ?? '')
}

const [keptFirst, keptLast] = [5, 45]

/** The beginning and the end of a long chain of ids, where the root and the latest are. */
export function trimReferences(ids: readonly string[], first = keptFirst, last = keptLast): string[] {
  return ids.length <= first + last ? [...ids] : [...ids.slice(0, first), ...ids.slice(-last)]
}
