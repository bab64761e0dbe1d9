import type { AgentDirectory, ChannelContext, IntakeSteps } from '@postern/core'
import { Rejection } from '@postern/core'
import { nameClaims } from '../addresses/claims.ts'
import type { MailAddresses } from '../addresses/mail-addresses.ts'
import type { AddressReader, Mailbox } from '../addresses/mailbox.ts'
import { countEntries, formatMailbox, readAuthor } from '../addresses/mailbox.ts'
import type { AddressedAgent } from '../addresses/recipients.ts'
import { findRecipients } from '../addresses/recipients.ts'
import type { MailLimits } from '../config/limits.ts'
import type { AddressTokens } from '../tokens/address-tokens.ts'
import type { HeaderBlock } from './header-scan.ts'
import { fieldValues, findField, scanHeaders } from './header-scan.ts'
import type { RawMail } from './raw.ts'

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
  claimMail(steps, header, raw, gateway.agents)
  const named = findRecipients(raw.envelope.to, gateway.agents)
  const isReport = raw.envelope.from === '' && areBounceAddresses(named, tokens, gateway.platform.now())
  const addresses = readMailAddresses(header, await openAddresses(), { limits, isReport })
  const recipients = raw.envelope.to.length > 0 ? named : findRecipients(listNamed(header, addresses), gateway.agents)
  if (recipients.length === 0) throw new Rejection('no_recipient', 'Cannot accept mail: no such agent here')
  return { raw, isReport, header, addresses, recipients }
}

/** What a mail says of itself, for the list of what was refused. */
function claimMail(
  steps: IntakeSteps,
  header: HeaderBlock,
  { envelope: { from, to } }: RawMail,
  agents: AgentDirectory,
): void {
  const sender = findField(header, 'from')?.trim() || from
  steps.claim({
    ...nameClaims({ sender, recipients: to }, agents),
    peer_id: findField(header, 'message-id')?.trim(),
  })
}

interface AddressReading {
  readonly limits: MailLimits
  readonly isReport: boolean
}

function readMailAddresses(header: HeaderBlock, read: AddressReader, reading: AddressReading): MailAddresses {
  const { limits, isReport } = reading
  const author = isReport ? readReporter(header, read) : readAuthor(fieldValues(header, 'from'), read)
  refuseCrowd(header, limits)
  const [replyTo, to, cc] = ['reply-to', 'to', 'cc'].map(name =>
    fieldValues(header, name).flatMap(value => read(value).mailboxes),
  ) as [Mailbox[], Mailbox[], Mailbox[]]
  if (to.length + cc.length > limits.addresses) throw tooManyRecipients(limits)
  return { author, replyTo, to, cc }
}

/**
 * Some servers report without an address: "Mail Delivery Subsystem". The recipient address shows that it is a report.
 */
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
