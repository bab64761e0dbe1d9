import type { AgentDirectory, FilePart, Intake, Part } from '@postern/core'
import { formatAddress, mentionRelays } from '@postern/core'
import { formatMailbox } from './addresses.ts'
import { alignsWithoutPolicy } from './authenticate/alignment.ts'
import { decodeHeaderText } from './encoded-words.ts'
import { findField } from './header-scan.ts'
import { findAutomaticMarks } from './loops/automatic.ts'
import type { ProvenMail, Recipient } from './mail.ts'
import type { MailFile } from './mime-job.ts'
import { findRecipient } from './recipients.ts'
import { describeSender } from './sender.ts'
import { packTarget } from './target.ts'
import type { MailThread } from './thread.ts'
import { readThread } from './thread.ts'

export interface MailNormalizing {
  readonly agents: AgentDirectory
  readonly answersUnaddressed: boolean
}

/** Flags of mail no agent may see: kept for the operator. */
const keptFlags: ReadonlySet<string> = new Set([
  'duplicate_header',
  'parser_killed',
  'mime_limits',
  'unparsable',
  'dmarc_quarantine',
  'signature_flood',
])

/** One intake for each agent the envelope names. Pure. */
export function normalizeMail(mail: ProvenMail, normalizing: MailNormalizing): Intake[] {
  const thread = readThread(mail.header, mail.body.digest)
  return mail.recipients.map(recipient => normalizeFor(recipient, mail, thread, normalizing))
}

function normalizeFor(
  recipient: Recipient,
  mail: ProvenMail,
  thread: MailThread,
  normalizing: MailNormalizing,
): Intake {
  const { addresses, authentication, body, raw } = mail
  const address = formatAddress({ local: recipient.agent, domain: normalizing.agents.domain })
  const reply = chooseReplyAddress(mail)
  const automatic = findMarks(recipient, mail, thread, normalizing)
  const flags = [
    ...mail.flags,
    ...reply.flags,
    ...(authentication.isQuarantined ? ['dmarc_quarantine'] : []),
    ...automatic,
  ]
  const isKept = automatic.length > 0 || flags.some(flag => keptFlags.has(flag))
  return {
    agent: recipient.agent,
    message: {
      id: thread.id,
      thread_id: thread.threadId,
      ...(thread.inReplyTo && { in_reply_to: thread.inReplyTo }),
      sender: describeSender(mail, address),
      recipient: address,
      parts: listParts(mail),
      recipient_capabilities: { mention_relay: mentionRelays.email },
      received_via: 'email',
      received_at: raw.receivedAt,
    },
    duplicateKey: `${address} ${body.digest}`,
    thread: {
      scope: `${authentication.isVerified ? 'v' : 'u'}:${formatMailbox(addresses.author)}`,
      references: thread.references,
    },
    aliases: thread.aliases,
    proofs: authentication.proofs,
    raw: { bytes: raw.octets, form: 'text' },
    blobs: body.files.map(({ digest, bytes, mime }) => ({ digest, bytes, mime })),
    target: packTarget({
      mailbox: reply.mailbox,
      ...(addresses.author.name && { name: addresses.author.name }),
      subject: readSubject(mail),
      ...(thread.messageId && { message_id: thread.messageId }),
      references: thread.references.filter(id => !thread.aliases.includes(id)),
      ...readTopic(mail),
      ...(recipient.tag && { tag: recipient.tag }),
    }),
    disposition: isKept ? 'keep' : 'answer',
    flags: [...new Set(flags)],
  }
}

function listParts(mail: ProvenMail): Part[] {
  const content = mail.body.text || decodeHeaderText(findField(mail.header, 'subject') ?? '')
  return [
    ...(content ? [{ kind: 'text', mime: 'text/plain', content } as const] : []),
    ...mail.body.files.map(partOfFile),
  ]
}

function partOfFile({ name, mime, size, digest }: MailFile): FilePart {
  return { kind: 'file', name, mime, size, bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest } }
}

/**
 * An allowed sender must not redirect what an agent says: Reply-To counts only within the proven domain, and only where
 * the signature covers it. Anybody can put one on a mail he once received.
 */
function chooseReplyAddress({ addresses, authentication }: ProvenMail): { mailbox: string; flags: string[] } {
  const { author, replyTo } = addresses
  const wanted = replyTo[0]
  if (!wanted || formatMailbox(wanted) === formatMailbox(author)) return { mailbox: formatMailbox(author), flags: [] }
  const isNear = alignsWithoutPolicy(wanted.domain, author.domain) || alignsWithoutPolicy(author.domain, wanted.domain)
  const isProven = authentication.isVerified && authentication.signature?.covers.includes('reply-to')
  if (isProven && isNear && replyTo.length === 1) return { mailbox: formatMailbox(wanted), flags: [] }
  return { mailbox: formatMailbox(author), flags: ['reply_to_diverted'] }
}

function findMarks(recipient: Recipient, mail: ProvenMail, thread: MailThread, normalizing: MailNormalizing): string[] {
  const { agents, answersUnaddressed } = normalizing
  const { header, addresses, raw, authentication } = mail
  const names = (list: ProvenMail['addresses']['to']) =>
    list.some(mailbox => findRecipient(formatMailbox(mailbox), agents)?.agent === recipient.agent)
  const isInTo = names(addresses.to)
  const isBare = findField(header, 'to') === undefined && findField(header, 'cc') === undefined
  const envelopeFrom = raw.envelope.from
  const isOwnAddress = [formatMailbox(addresses.author), envelopeFrom ?? ''].some(text => findRecipient(text, agents))
  return findAutomaticMarks({
    header,
    author: addresses.author,
    envelopeFrom,
    isVerified: authentication.isVerified,
    isInTo,
    isAddressed: answersUnaddressed || isBare || isInTo || names(addresses.cc),
    isOwn: isOwnAddress || isOwnId(thread.messageId, agents.domain),
  })
}

/** Our Message-IDs are a response's id on our domain. */
function isOwnId(messageId: string | undefined, domain: string): boolean {
  return messageId !== undefined && /^[0-9a-f]{32}@/.test(messageId) && messageId.endsWith(`@${domain}`)
}

function readSubject({ header }: ProvenMail): string {
  return decodeHeaderText(findField(header, 'subject') ?? '').slice(0, 900)
}

function readTopic({ header }: ProvenMail): { readonly thread_topic?: string } {
  const topic = decodeHeaderText(findField(header, 'thread-topic') ?? '').slice(0, 900)
  return topic ? { thread_topic: topic } : {}
}
