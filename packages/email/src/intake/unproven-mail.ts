// Reads the header of a mail before its proof.

import { Rejection } from '@postern/message'
import type { ChannelContext, IntakeSteps } from '@postern/pipeline'
import type { MailLimits } from '../config/limits.ts'
import type { AddressReader, MailAddresses } from '../mail/address-list.ts'
import { countMaxEntries } from '../mail/address-list.ts'
import { readAuthor } from '../mail/author.ts'
import type { HeaderBlock } from '../mail/header.ts'
import { fieldValues, findField, scanHeaders } from '../mail/header.ts'
import type { Mailbox } from '../mail/mailbox.ts'
import { formatMailbox } from '../mail/mailbox.ts'
import type { RawMail } from '../mail/raw-mail.ts'
import type { AddressedAgent } from '../mail/recipients.ts'
import { findRecipients } from '../mail/recipients.ts'
import type { AddressTokens } from '../tokens/address-tokens.ts'
import { describeClaims } from './claims.ts'

export interface ReadMailDeps {
  readonly gateway: Pick<ChannelContext, 'agents' | 'system' | 'store'>
  readonly limits: MailLimits
  readonly tokens: Pick<AddressTokens, 'readTag'>
  openAddresses(): Promise<AddressReader>
  readonly steps: IntakeSteps
}

/** A message with a parsed header, before its author is proven. */
export interface UnprovenMail {
  readonly raw: RawMail
  /** True if the message comes from the null sender to addresses that only bounces of the gateway's mail use. */
  readonly isReport: boolean
  readonly header: HeaderBlock
  readonly addresses: MailAddresses
  readonly recipients: readonly AddressedAgent[]
}

/** Reads the header, the author and the recipients of a message. @throws Rejection */
export async function readUnprovenMail(
  raw: RawMail,
  { gateway, limits, tokens, openAddresses, steps }: ReadMailDeps,
): Promise<UnprovenMail> {
  const header = scanHeaders(raw.octets, limits)
  const sender = findField(header, 'from')?.trim() || raw.envelope.from
  // The list of refusals shows these claims.
  steps.recordClaims({
    ...describeClaims({ sender, recipients: raw.envelope.to }, gateway.agents),
    peer_id: findField(header, 'message-id')?.trim(),
  })
  const addressedAgents = findRecipients(raw.envelope.to, gateway.agents)
  const isReport = raw.envelope.from === '' && areBounceAddresses(addressedAgents, tokens, gateway.system.now())
  const addresses = readMailAddresses(header, await openAddresses(), { limits, isReport })
  const recipients =
    raw.envelope.to.length > 0
      ? addressedAgents
      : findRecipients(listNamedRecipients(header, addresses), gateway.agents)
  if (recipients.length === 0) throw new Rejection('no_recipient', 'Cannot accept mail: no such agent here')
  return { raw, isReport, header, addresses, recipients }
}

function readMailAddresses(
  header: HeaderBlock,
  readAddresses: AddressReader,
  { limits, isReport }: { readonly limits: MailLimits; readonly isReport: boolean },
): MailAddresses {
  const author = isReport ? readReporter(header, readAddresses) : readAuthor(fieldValues(header, 'from'), readAddresses)
  refuseTooManyRecipients(header, limits)
  const [replyTo, to, cc] = ['reply-to', 'to', 'cc'].map(name =>
    fieldValues(header, name).flatMap(value => readAddresses(value).mailboxes),
  ) as [Mailbox[], Mailbox[], Mailbox[]]
  if (to.length + cc.length > limits.addresses) throw createTooManyRecipientsRejection(limits)
  return { author, replyTo, to, cc }
}

/**
 * Returns the author of a report. Some servers send reports without an address in From ("Mail Delivery Subsystem"), and then the recipient address
 * shows that the mail is a report.
 */
function readReporter(header: HeaderBlock, readAddresses: AddressReader): Mailbox {
  try {
    return readAuthor(fieldValues(header, 'from'), readAddresses)
  } catch {
    return { local: 'mailer-daemon', domain: 'unknown.invalid' }
  }
}

/** The average length of an address with its name. */
const charsPerAddress = 80

/**
 * Refuses far too many addresses without parsing them, because parsing would delay other work. The limit is generous,
 * because a name may contain separators too.
 */
function refuseTooManyRecipients(header: HeaderBlock, limits: MailLimits): void {
  const values = ['reply-to', 'to', 'cc'].flatMap(name => fieldValues(header, name))
  const entryCount = values.reduce((sum, value) => sum + countMaxEntries(value), 0)
  if (entryCount > limits.addresses * 4) throw createTooManyRecipientsRejection(limits)
  if (values.reduce((sum, value) => sum + value.length, 0) > limits.addresses * charsPerAddress) {
    throw new Rejection('malformed', 'Cannot read mail: its recipients are too long')
  }
}

function createTooManyRecipientsRejection({ addresses }: MailLimits): Rejection {
  return new Rejection('malformed', `Cannot read mail: more than ${addresses} recipients in the header`)
}

/**
 * Returns the recipients of a mail whose transport gave no envelope: the recipients that the last hop recorded, or else
 * those that the author named.
 */
function listNamedRecipients(header: HeaderBlock, { to, cc }: MailAddresses): readonly string[] {
  // Autoresponders write their own name here, without an address.
  const deliveredTo = ['delivered-to', 'x-original-to']
    .flatMap(name => fieldValues(header, name))
    .filter(value => value.includes('@'))
  if (deliveredTo.length > 0) return deliveredTo
  return [...to, ...cc].map(formatMailbox)
}

/**
 * Returns true if all recipients are bounce addresses. A report about the gateway's mail is unsigned and comes from any
 * server, but the gateway has signed the recipient address.
 */
function areBounceAddresses(
  recipients: readonly AddressedAgent[],
  tokens: Pick<AddressTokens, 'readTag'>,
  now: number,
): boolean {
  const isBounce = ({ agent, tag }: AddressedAgent) => tokens.readTag(agent, tag, now).token?.kind === 'bounce'
  return recipients.length > 0 && recipients.every(isBounce)
}
