// Turns a mail into one intake for each agent among its recipients.
import type { Part } from '@postern/message'
import { formatAddress, replayFlag } from '@postern/message'
import type { AgentDirectory, Intake, RelationEffect } from '@postern/pipeline'
import type { ProvenMail } from './authenticate/proven-mail.ts'
import { findProofId } from './authenticate/verdict.ts'
import { readAgentMail } from './automatic/agent-mail.ts'
import { isAutoReply, isReport } from './automatic/auto-reply.ts'
import { planBudgets } from './automatic/budgets.ts'
import { matchMailRules } from './automatic/field-rules.ts'
import type { TextDigests } from './automatic/text-digests.ts'
import { digestText } from './automatic/text-digests.ts'
import { isDaemon } from './automatic/unread-mailbox.ts'
import { bodyOfReaction, readReaction } from './body/reaction.ts'
import type { ParsedReport } from './bounces/bounce.ts'
import { readReport } from './bounces/bounce.ts'
import type { EmailConfig } from './config.ts'
import { noSenderHistory } from './correspondents/correspondents.ts'
import { recordEnvelope } from './intake/envelope-record.ts'
import type { MailThread } from './intake/thread.ts'
import { readThread } from './intake/thread.ts'
import { readHeaderText } from './mail/header-text.ts'
import { formatMailbox } from './mail/mailbox.ts'
import type { AddressedAgent } from './mail/recipients.ts'
import { decideDisposition } from './message/disposition.ts'
import { describeAddressing, listMailParts } from './message/mail-parts.ts'
import { mayBeReplayed } from './message/replayed-copy.ts'
import {
  describeInitiator,
  describeReply,
  describeTarget,
  listOtherRecipients,
  listReferences,
} from './message/reply-target.ts'
import { describeAuthor } from './message/sender.ts'
import type { ReplyAddress } from './out/reply-address.ts'
import { chooseReplyAddress } from './out/reply-address.ts'
import { scopeOf } from './out/scope.ts'
import { packTarget } from './out/target.ts'
import { noNotice, planUnreadable } from './out/unreadable.ts'
import { isRecent } from './signatures/recent-date.ts'
import { emailDescriptor } from './speaker.ts'
import type { AddressTokens } from './tokens/address-tokens.ts'

export interface NormalizeMailDeps {
  readonly agents: AgentDirectory
  readonly tokens: AddressTokens
  /** The longest chain of agents that this gateway accepts. */
  readonly maxHops: number
  readonly config: Pick<
    EmailConfig,
    'answer_bcc' | 'answer_lists' | 'show_auto_replies' | 'reply_all' | 'reply_to_allow' | 'reply_to_from' | 'budgets'
  >
}

/** Makes one intake for each agent that the envelope names. It is pure. */
export function normalizeMail(provenMail: ProvenMail, deps: NormalizeMailDeps): Intake[] {
  const thread = readThread(provenMail, provenMail.body.digest)
  // A reaction that answers no mail is treated as an ordinary mail, as in Gmail.
  const reaction = thread.inReplyTo === undefined ? undefined : readReaction(provenMail)
  const mail = reaction === undefined ? provenMail : { ...provenMail, body: bodyOfReaction(provenMail.body, reaction) }
  const reply = chooseReplyAddress(mail, deps)
  const marks = matchMailRules({ header: mail.header, text: mail.body.text })
  const isAutomatic = isAutoReply(mail, marks) && !readAgentMail(mail, deps.maxHops)
  const mailFlags = isAutomatic ? [...mail.flags, 'auto_reply'] : mail.flags
  const answerTo = reply.namedBy && { answer_to: reply.mailbox }
  const body = { ...mail.body, details: { ...describeAddressing(mail), ...answerTo, ...mail.body.details } }
  const content = {
    reply,
    thread,
    kind: reaction === undefined ? ('message' as const) : ('reaction' as const),
    report: mayReport(mail) ? readReport(mail) : undefined,
    digests: digestText(mail),
    listParts: (flags: readonly string[]) =>
      listMailParts(body, { subject: readHeaderText(mail.header, 'subject'), flags: [...mailFlags, ...flags] }),
  }
  return mail.recipients.map(recipient => normalizeForRecipient(recipient, mail, content, deps))
}

/**
 * Returns true if a mail may be a report. Reports come from servers, most of them with the null sender (RFC 5321 §4.5.5).
 */
function mayReport({ raw, header, addresses: { author } }: ProvenMail): boolean {
  return raw.envelope.from === '' || isReport(header) || isDaemon(author.local)
}

/** The part of a mail that costs time to read and is the same for every recipient, so it is read once. */
interface MailContent {
  readonly reply: ReplyAddress
  readonly thread: MailThread
  readonly kind: 'message' | 'reaction'
  readonly report: ParsedReport | undefined
  readonly digests: TextDigests
  listParts(flags: readonly string[]): Part[]
}

function normalizeForRecipient(
  recipient: AddressedAgent,
  mail: ProvenMail,
  { reply, thread, kind, report: parsedReport, digests, listParts }: MailContent,
  { agents, tokens, config, maxHops }: NormalizeMailDeps,
): Intake {
  const { authentication, body, raw } = mail
  const { agent } = recipient
  const senderHistory = mail.senderHistories.get(agent) ?? noSenderHistory
  const address = formatAddress({ local: agent, domain: agents.domain })
  const parsedTag = tokens.readTag(agent, recipient.tag, Date.parse(raw.receivedAt))
  const otherRecipients = listOtherRecipients(mail, reply, { agents, config })
  const agentMail = readAgentMail(mail, maxHops)
  const chain = agentMail?.chain
  const recipientFlags = [...senderHistory.flags, ...(mayBeReplayed(mail, recipient, agents) ? [replayFlag] : [])]
  const { messageId } = thread
  const markContext = { recipient, agents, tokens, token: parsedTag.token, messageId, agentMail, reply, config }
  const dispositionFacts = { recipientFlags, reply, parsedReport }
  const { flags, handling, report } = decideDisposition(mail, markContext, dispositionFacts, config)
  const scope = scopeOf(mail, reply, otherRecipients)
  const isSilent = handling === 'show'
  const replyFields = describeReply(reply, { others: otherRecipients, scope, chain, isSilent })
  const target = { ...describeTarget(mail, thread, parsedTag), ...replyFields }
  const duplicateKey = `${address} ${identifyMail(mail)}${handling === 'answer' ? '' : ' kept'}`
  const references = listReferences(thread, parsedTag)
  const namedMailbox = reply.namedBy && reply.mailbox
  const isToAll = otherRecipients.length > 0
  const budgetFacts = { agent, digests, beginsThread: references.length === 0, isToAll, namedMailbox }
  const sendsNotice = handling === 'answer' && mail.unreadable.has(agent)
  const notice = sendsNotice ? planUnreadable(mail, { target, duplicateKey, domain: agents.domain }) : noNotice
  return {
    agent,
    message: {
      id: thread.id,
      ...(kind === 'reaction' && { kind }),
      thread_source: thread.source,
      ...(thread.inReplyTo && { in_reply_to: thread.inReplyTo }),
      sender: describeAuthor(mail.addresses.author, authentication, { audience: address, issuedAt: raw.receivedAt }),
      recipient: address,
      parts: listParts(recipientFlags),
      recipient_capabilities: { mention_relay: emailDescriptor.mentionRelay, ...(chain && { agent_chain: chain }) },
      received_via: 'email',
      received_at: raw.receivedAt,
    },
    duplicateKey,
    thread: { scope, references, ...describeInitiator(mail, otherRecipients) },
    aliases: [...thread.aliases, ...notice.aliases],
    proofs: [...authentication.proofs, ...senderHistory.proofs],
    sentAt: Date.parse(readHeaderText(mail.header, 'date')),
    arrival: recordEnvelope(raw, mail.historyFlags),
    raw: { bytes: mail.storedOctets, form: 'text' },
    blobs: body.files.map(({ digest, bytes, mime }) => ({ digest, bytes, mime })),
    target: packTarget(target),
    deliveries: notice.deliveries,
    disposition: handling === 'keep' ? 'keep' : 'answer',
    flags: [...new Set(flags)],
    effects: handling === 'answer' ? [...liftSuppression(mail), ...senderHistory.effects(thread.id)] : report.effects,
    ...(handling !== 'keep' && planBudgets(mail, budgetFacts, config.budgets)),
  }
}

/**
 * Returns the identity of a message, by which duplicates are found. A signed mail has the identity of its signature, because others can add fields to
 * a copy and it still verifies. An unanswered copy differs from an answered one, so a bounce that arrives first does not replace the mail.
 */
function identifyMail({ authentication, body }: ProvenMail): string {
  const id = findProofId(authentication)
  return id ? `signed ${id}` : body.digest
}

/** Lifts the suppression of an author who is proven and wrote just now. */
function liftSuppression(mail: ProvenMail): RelationEffect[] {
  const {
    authentication,
    addresses: { author },
    raw,
  } = mail
  if (!authentication.isVerified || !isRecent(mail.signedHeader, Date.parse(raw.receivedAt))) return []
  return [{ kind: 'unrelate', relation: 'suppressed', peer: formatMailbox(author) }]
}
