// Turns a mail into one intake for each agent among its recipients.
import type { AgentChain, Part } from '@postern/message'
import { formatAddress, replayFlag } from '@postern/message'
import type { AgentDirectory, Intake, RelationEffect } from '@postern/pipeline'
import type { ProvenMail } from './authenticate/proven-mail.ts'
import { findProofId } from './authenticate/verdict.ts'
import { readAgentMail } from './automatic/agent-mail.ts'
import { isAutoReply, isReport } from './automatic/auto-reply.ts'
import { planBudgets } from './automatic/budgets.ts'
import { matchMailRules } from './automatic/field-rules.ts'
import type { TextDigests } from './automatic/text-digests.ts'
import { digestMailText } from './automatic/text-digests.ts'
import { isDaemon } from './automatic/unattended-mailbox.ts'
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
import { describeAuthor } from './message/describe-author.ts'
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
import type { ReplyAddress } from './outgoing/reply-address.ts'
import { chooseReplyAddress } from './outgoing/reply-address.ts'
import { packTarget } from './outgoing/target.ts'
import { scopeOf } from './outgoing/thread-scope.ts'
import { noNotice, planUnreadableNotice } from './outgoing/unreadable-notice.ts'
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

/** Creates one intake for each agent that the envelope names. The function is pure. */
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
    digests: digestMailText(mail),
    listParts: (flags: readonly string[]) =>
      listMailParts(body, { subject: readHeaderText(mail.header, 'subject'), flags: [...mailFlags, ...flags] }),
  }
  return mail.recipients.map(recipient => normalizeForRecipient({ recipient, mail, content }, deps))
}

/**
 * Returns true if a mail may be a report. Reports come from servers, most of them with the null sender (RFC 5321 §4.5.5).
 */
function mayReport({ raw, header, addresses: { author } }: ProvenMail): boolean {
  return raw.envelope.from === '' || isReport(header) || isDaemon(author.local)
}

/** The content of a mail that is the same for every recipient. It is read only once, because reading takes time. */
interface MailContent {
  readonly reply: ReplyAddress
  readonly thread: MailThread
  readonly kind: 'message' | 'reaction'
  readonly report: ParsedReport | undefined
  readonly digests: TextDigests
  listParts(flags: readonly string[]): Part[]
}

/** A mail for one of its recipients. */
interface RecipientMail {
  readonly recipient: AddressedAgent
  readonly mail: ProvenMail
  readonly content: MailContent
}

function normalizeForRecipient(recipientMail: RecipientMail, deps: NormalizeMailDeps): Intake {
  const { recipient, mail, content } = recipientMail
  const { agents, tokens, config, maxHops } = deps
  const { authentication, body, raw } = mail
  const { reply, thread, report: parsedReport, digests } = content
  const { agent } = recipient
  const senderHistory = mail.senderHistories.get(agent) ?? noSenderHistory
  const parsedTag = tokens.readTag(agent, recipient.tag, Date.parse(raw.receivedAt))
  const agentMail = readAgentMail(mail, maxHops)
  const chain = agentMail?.chain
  const recipientFlags = [...senderHistory.flags, ...(mayBeReplayed(mail, recipient, agents) ? [replayFlag] : [])]
  const { messageId } = thread
  const noAnswerContext = { recipient, agents, tokens, token: parsedTag.token, messageId, agentMail, reply, config }
  const dispositionFacts = { recipientFlags, reply, parsedReport }
  const { flags, mailDisposition, report } = decideDisposition(mail, noAnswerContext, dispositionFacts, config)
  const isAnswered = mailDisposition === 'answer'
  const otherRecipients = listOtherRecipients(mail, reply, { agents, config })
  const scope = scopeOf(mail, reply, otherRecipients)
  const replyFields = describeReply(reply, { otherRecipients, scope, chain, isSilent: mailDisposition === 'show' })
  const target = { ...describeTarget(mail, thread, parsedTag), ...replyFields }
  const message = buildMessage(recipientMail, { chain, recipientFlags }, agents)
  // An answered mail has another key than an unanswered copy, so that a copy that arrives first does not replace it.
  const duplicateKey = `${message.recipient} ${identifyMail(mail)}${isAnswered ? '' : ' kept'}`
  const references = listReferences(thread, parsedTag)
  const budgetFacts = {
    agent,
    digests,
    beginsThread: references.length === 0,
    isReplyAll: otherRecipients.length > 0,
    namedMailbox: reply.namedBy && reply.mailbox,
  }
  const sendsNotice = isAnswered && mail.notifyingAgents.has(agent)
  const notice = sendsNotice ? planUnreadableNotice(mail, { target, duplicateKey, domain: agents.domain }) : noNotice
  return {
    agent,
    message,
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
    disposition: mailDisposition === 'keep' ? 'keep' : 'answer',
    flags: [...new Set(flags)],
    effects: isAnswered ? [...liftSuppression(mail), ...senderHistory.listEffects(thread.id)] : report.effects,
    ...(mailDisposition !== 'keep' && planBudgets(mail, budgetFacts, config.budgets)),
  }
}

interface MessageFacts {
  readonly chain: AgentChain | undefined
  readonly recipientFlags: readonly string[]
}

function buildMessage(
  { recipient, mail, content: { thread, kind, listParts } }: RecipientMail,
  { chain, recipientFlags }: MessageFacts,
  agents: AgentDirectory,
) {
  const address = formatAddress({ local: recipient.agent, domain: agents.domain })
  const issuedAt = mail.raw.receivedAt
  return {
    id: thread.id,
    ...(kind === 'reaction' && { kind }),
    thread_source: thread.rootId,
    ...(thread.inReplyTo && { in_reply_to: thread.inReplyTo }),
    sender: describeAuthor(mail.addresses.author, mail.authentication, { audience: address, issuedAt }),
    recipient: address,
    parts: listParts(recipientFlags),
    recipient_capabilities: { mention_relay: emailDescriptor.mentionRelay, ...(chain && { agent_chain: chain }) },
    received_via: 'email',
    received_at: issuedAt,
  } as const satisfies Intake['message']
}

/**
 * Returns the identity of a message, by which duplicates are found. A signed mail has the identity of its signature,
 * because a copy with added fields still verifies.
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
