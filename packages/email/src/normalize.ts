import type {
  AgentDirectory,
  ArtifactPart,
  FilePart,
  IdentityEvidence,
  Intake,
  Part,
  RelationEffect,
  Sender,
} from '@postern/core'
import { agentFlag, formatAddress, mintTransportEvidence, replayFlag } from '@postern/core'
import type { ProvenMail } from './authenticate/proven-mail.ts'
import { formatKeyId, isRecent } from './authenticate/signatures.ts'
import type { Authentication } from './authenticate/verdict.ts'
import type { Marking } from './automatic/marks.ts'
import {
  findMarks,
  hashWords,
  isAutoReply,
  isListMail,
  isReport,
  matchFieldRules,
  planBudgets,
  readAgentMail,
} from './automatic/marks.ts'
import type { MailBody, MailDetails, MailFile } from './body/mail-body.ts'
import type { ReadReport } from './bounces/bounce.ts'
import { judgeReport, noReport, readReport } from './bounces/bounce.ts'
import type { EmailConfig } from './config.ts'
import { noSenderHistory } from './correspondents/correspondents.ts'
import type { MailThread } from './intake/intake.ts'
import { readThread, recordEnvelope } from './intake/intake.ts'
import type { AddressedAgent, AddressTokens, Mailbox, ReadTag } from './mail/addresses.ts'
import { decodeHeaderText, findRecipient, formatMailbox } from './mail/addresses.ts'
import { findField } from './mail/octets.ts'
import type { ReplyAddress } from './out/target.ts'
import { chooseReplyAddress, findOthers, packTarget, scopeOf } from './out/target.ts'
import { noNotice, planUnreadable } from './out/unreadable.ts'
import { emailDescriptor } from './speaker.ts'

export interface MailNormalizing {
  readonly agents: AgentDirectory
  readonly tokens: AddressTokens
  /** Our ceiling for chains of agents. */
  readonly maxHops: number
  readonly config: Pick<
    EmailConfig,
    'answer_bcc' | 'answer_lists' | 'show_auto_replies' | 'reply_all' | 'reply_to_allow' | 'budgets'
  >
}

/** Flags of mail that no agent may see; it is kept for the operator. */
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
  const isAutomatic = isAutoReply(mail, matchFieldRules(mail.header)) && !readAgentMail(mail, normalizing.maxHops)
  const mailFlags = isAutomatic ? [...mail.flags, 'auto_reply'] : mail.flags
  const told = { ...mail.body, details: { ...describeAddressing(mail), ...mail.body.details } }
  const reading = {
    thread: readThread(mail, mail.body.digest),
    report: mail.raw.envelope.from === '' || isReport(mail.header) ? readReport(mail) : undefined,
    words: hashWords(mail),
    listParts: (flags: readonly string[]) =>
      listMailParts(told, { subject: readText(mail.header, 'subject'), flags: [...mailFlags, ...flags] }),
  }
  return mail.recipients.map(recipient => normalizeFor(recipient, mail, reading, normalizing))
}

/** The part that is the same for every recipient, and costs time to read. */
interface MailReading {
  readonly thread: MailThread
  readonly report: ReadReport | undefined
  readonly words: string
  listParts(flags: readonly string[]): Part[]
}

function normalizeFor(
  recipient: AddressedAgent,
  mail: ProvenMail,
  { thread, report: written, words, listParts }: MailReading,
  { agents, tokens, config, maxHops }: MailNormalizing,
): Intake {
  const { authentication, body, raw } = mail
  const { agent } = recipient
  const senderHistory = mail.senderHistories.get(agent) ?? noSenderHistory
  const address = formatAddress({ local: agent, domain: agents.domain })
  const read = tokens.readTag(agent, recipient.tag, Date.parse(raw.receivedAt))
  const reply = chooseReplyAddress(mail, config.reply_to_allow)
  const others =
    config.reply_all && !isListMail(mail) ? findOthers(mail, agents).filter(other => other !== reply.mailbox) : []
  const agentMail = readAgentMail(mail, maxHops)
  const chain = agentMail?.chain
  const noted = [...senderHistory.flags, ...(mayBeReplayed(mail, recipient, agents) ? [replayFlag] : [])]
  const marking = { recipient, agents, tokens, token: read.token, messageId: thread.messageId, agentMail, config }
  const { flags, handling, report } = judgeFor(mail, marking, { noted, reply, written }, config)
  const scope = scopeOf(mail, others)
  const target = {
    ...describeTarget(mail, thread, read),
    mailbox: reply.mailbox,
    others,
    scope,
    ...(chain && { hop: chain.hop, max_hops: chain.max_hops }),
    ...(handling === 'show' && { is_silent: true }),
  }
  const duplicateKey = `${address} ${identifyMail(mail)}${handling === 'answer' ? '' : ' kept'}`
  const isTold = handling === 'answer' && mail.unreadable.has(agent)
  const notice = isTold ? planUnreadable(mail, { target, duplicateKey, domain: agents.domain }) : noNotice
  return {
    agent,
    message: {
      id: thread.id,
      thread_id: thread.threadId,
      ...(thread.inReplyTo && { in_reply_to: thread.inReplyTo }),
      sender: describeSender(mail.addresses.author, authentication, { audience: address, issuedAt: raw.receivedAt }),
      recipient: address,
      parts: listParts(noted),
      recipient_capabilities: { mention_relay: emailDescriptor.mentionRelay, ...(chain && { agent_chain: chain }) },
      received_via: 'email',
      received_at: raw.receivedAt,
    },
    duplicateKey,
    thread: { scope, references: listReferences(thread, read), ...nameBeginner(mail, others) },
    aliases: [...thread.aliases, ...notice.aliases],
    proofs: [...authentication.proofs, ...senderHistory.proofs],
    sentAt: Date.parse(readText(mail.header, 'date')),
    arrival: recordEnvelope(raw, mail.known),
    raw: { bytes: mail.keptOctets, form: 'text' },
    blobs: body.files.map(({ digest, bytes, mime }) => ({ digest, bytes, mime })),
    target: packTarget(target),
    deliveries: notice.deliveries,
    disposition: handling === 'keep' ? 'keep' : 'answer',
    flags: [...new Set(flags)],
    effects: handling === 'answer' ? [...liftSuppression(mail), ...senderHistory.effects(thread.id)] : report.effects,
    ...(handling !== 'keep' && planBudgets(mail, { agent, words, isToAll: others.length > 0 }, config.budgets)),
  }
}

interface Judging {
  /** Flags for this recipient alone. */
  readonly noted: readonly string[]
  readonly reply: ReplyAddress
  readonly written: ReadReport | undefined
}

/** The oddities of a mail for one of its recipients, its reports, and its disposition. */
function judgeFor(
  mail: ProvenMail,
  marking: Marking,
  { noted, reply, written }: Judging,
  config: MailNormalizing['config'],
) {
  const marks = findMarks(mail, marking)
  const { agentMail, tokens, token } = marking
  const { agent } = marking.recipient
  const report = written ? judgeReport(written, { agent, tokens, token, receivedAt: mail.raw.receivedAt }) : noReport
  const quarantine = mail.authentication.isQuarantined ? ['dmarc_quarantine'] : []
  const byAgent = agentMail ? [agentFlag] : []
  const byList = config.answer_lists && isListMail(mail) ? ['by_list'] : []
  const odd = [...mail.flags, ...noted, ...byAgent, ...byList]
  const flags = [...odd, ...reply.flags, ...quarantine, ...marks, ...report.flags]
  return { flags, handling: chooseDisposition(mail, { marks, flags }, config), report }
}

/** `show`: the agent reads it, and nothing is sent for it. */
function chooseDisposition(
  mail: ProvenMail,
  { marks, flags }: { readonly marks: readonly string[]; readonly flags: readonly string[] },
  config: MailNormalizing['config'],
): 'answer' | 'show' | 'keep' {
  if (flags.some(flag => keptFlags.has(flag))) return 'keep'
  if (marks.length === 0) return 'answer'
  return config.show_auto_replies && isAutoReply(mail, marks) ? 'show' : 'keep'
}

/**
 * The identity of a message, for finding duplicates. A signed mail has its signature: others can add fields to a copy,
 * and it still verifies. An unanswered copy differs from an answered one, so a copy that comes first, as a bounce, does
 * not replace the mail.
 */
function identifyMail({ authentication: { signature, voucher }, body }: ProvenMail): string {
  const id = signature?.id ?? voucher?.sealId
  return id ? `signed ${id}` : body.digest
}

/** The message that the recipient address names comes before the one that the mail program names. */
function listReferences({ references }: MailThread, { token }: ReadTag): readonly string[] {
  return token?.kind === 'reply' ? [token.alias, ...references] : references
}

/** A conversation with others. */
function nameBeginner({ addresses: { author } }: ProvenMail, others: readonly string[]) {
  return others.length > 0 ? { begunBy: `mailto:${formatMailbox(author).toLowerCase()}` } : {}
}

/** Flagged as a crowd. */
const maxTold = 50

/** The other recipients, and the person who forwarded it. */
function describeAddressing({ addresses: { to, cc }, header }: ProvenMail): MailDetails {
  const resentFrom = readText(header, 'resent-from')
  const isAlone = to.length + cc.length <= 1
  return {
    ...(!isAlone && to.length > 0 && { to: to.slice(0, maxTold).map(formatMailbox) }),
    ...(!isAlone && cc.length > 0 && { cc: cc.slice(0, maxTold).map(formatMailbox) }),
    ...(resentFrom && { resent_from: resentFrom }),
  }
}

/** A proven and recent author's address can be written to. */
function liftSuppression(mail: ProvenMail): RelationEffect[] {
  const {
    authentication,
    addresses: { author },
    raw,
  } = mail
  if (!authentication.isVerified || !isRecent(mail, Date.parse(raw.receivedAt))) return []
  return [{ kind: 'unrelate', relation: 'suppressed', peer: formatMailbox(author) }]
}

function describeTarget({ addresses: { author }, header }: ProvenMail, thread: MailThread, { tag }: ReadTag) {
  const topic = readText(header, 'thread-topic')
  const index = findField(header, 'thread-index')
  return {
    ...(author.name && { name: author.name }),
    subject: readText(header, 'subject'),
    ...(thread.messageId && { message_id: thread.messageId }),
    references: thread.references.filter(id => !thread.aliases.includes(id)),
    ...(topic && { thread_topic: topic }),
    ...(index && index.length <= 1024 && { thread_index: index }),
    ...(tag && { tag }),
  }
}

function readText(header: ProvenMail['header'], name: string): string {
  return decodeHeaderText(findField(header, name) ?? '').slice(0, 900)
}

/** Flags that an agent ought to know of when it reads the text. */
const toldFlags: ReadonlySet<string> = new Set([
  'hidden_text',
  'invisible_characters',
  'alternative_mismatch',
  'text_cut',
  'attachments_dropped',
  'smime_signed',
  'smime_encrypted',
  'pgp_signed',
  'pgp_encrypted',
  'tnef',
  'display_name_spoof',
  'lookalike_domain',
  'lookalike',
  'mixed_script',
  'replayed_signature',
  replayFlag,
  'unsigned_to',
  'unsigned_cc',
  'unsigned_subject',
  'unsigned_date',
  'unsigned_in_reply_to',
  'unsigned_references',
  'unsigned_content_type',
  'unsigned_structure',
  'unsigned_content_transfer_encoding',
  'auto_reply',
])

/**
 * The parts for an agent: the newest text (or else the subject), the files, further texts as artifacts, and the
 * details.
 */
function listMailParts(
  { text, files, details }: Pick<MailBody, 'text' | 'files' | 'details'>,
  { subject, flags }: { readonly subject: string; readonly flags: readonly string[] },
): Part[] {
  const content = text || subject
  return [
    ...(content ? [{ kind: 'text', mime: 'text/plain', content } as const] : []),
    ...files.map(partOfFile),
    ...listDetailParts({ ...(text && subject && { subject }), ...details }, flags),
  ]
}

function partOfFile({ name, mime, size, digest, role }: MailFile): FilePart | ArtifactPart {
  const bytes_ref = { kind: 'content_addressed', algo: 'sha256', digest } as const
  if (!role) return { kind: 'file', name, mime, size, bytes_ref }
  return { kind: 'artifact', name, mime, size, artifact_type: `email.${role}`, bytes_ref }
}

/**
 * The part of kind `email` (ours) that carries them to the agent; none where there is nothing to say. Agents that do not know
 * the kind pass it over.
 */
function listDetailParts(details: MailDetails, flags: readonly string[]): Part[] {
  const told = [...new Set(flags.filter(flag => toldFlags.has(flag)))]
  const part = { kind: 'email', ...details, ...(told.length > 0 && { flags: told }) }
  return Object.keys(part).length > 1 ? [part as unknown as Part] : []
}

/**
 * A valid signature holds for every copy, at any time. It shows that its author writes to this agent now only where it
 * covers a `To` with the agent, a recent `Date`, and the text or at least the subject.
 */
function mayBeReplayed(mail: ProvenMail, recipient: AddressedAgent, agents: AgentDirectory): boolean {
  const { authentication, named, covered, body, raw } = mail
  if (!authentication.signature) return false
  const isNamed = named.to.some(mailbox => findRecipient(formatMailbox(mailbox), agents)?.agent === recipient.agent)
  const isSaid = body.text !== '' || findField(covered, 'subject') !== undefined
  return !isNamed || !isSaid || !isRecent(mail, Date.parse(raw.receivedAt))
}

/** The author as agents see them, with the evidence. `context`: what all evidence of one mail shares. */
function describeSender(
  author: Mailbox,
  { method, isVerified, signature, signedBy, voucher }: Authentication,
  context: { readonly audience: string; readonly issuedAt: string },
): Sender {
  const subject = `mailto:${formatMailbox(author)}`
  const identities: IdentityEvidence[] = []
  if (signature) {
    const shared = { ...context, subject, issuer: signature.domain, keyId: formatKeyId(signature) }
    // `address` only when DMARC passed: then the domain's policy covers its own users.
    identities.push(
      method === 'email-dmarc'
        ? mintTransportEvidence({ ...shared, method, assurance: 'address' })
        : mintTransportEvidence({ ...shared, method: 'email-dkim', assurance: 'domain' }),
    )
  }
  if (voucher) {
    // A third party that the operator believes reports it; no key of the author's domain was seen.
    const { issuer, keyId } = voucher
    identities.push(
      mintTransportEvidence({ ...context, method: 'email-dmarc', subject, issuer, assurance: 'domain', keyId }),
    )
  }
  for (const other of signedBy) {
    // A valid signature of another domain is evidence about that domain, never about the author.
    const shared = { ...context, subject: other.domain, issuer: other.domain, keyId: formatKeyId(other) }
    identities.push(mintTransportEvidence({ ...shared, method: 'email-dkim', assurance: 'domain' }))
  }
  return {
    address: formatAddress(author),
    ...(author.name && { display_name: author.name, profile: { display_name: author.name } }),
    auth_method: method,
    verified: isVerified,
    ...(signature && { key_id: formatKeyId(signature) }),
    ...(voucher && { key_id: voucher.keyId }),
    ...(identities.length > 0 && { identities }),
  }
}
