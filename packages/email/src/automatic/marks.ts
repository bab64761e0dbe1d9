import { createHash } from 'node:crypto'
import type { AgentChain, AgentDirectory, Intake, TurnBudget } from '@postern/core'
import { hopFlag } from '@postern/core'
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import type { AnswerBudgets } from '../config/answers.ts'
import type { AddressedAgent, AddressTokens, Mailbox } from '../mail/addresses.ts'
import { findRecipient, formatMailbox, hopField } from '../mail/addresses.ts'
import type { HeaderBlock } from '../mail/octets.ts'
import { fieldValues, findField } from '../mail/octets.ts'
import type { AddressToken } from '../mail/read-tokens.ts'
import { parseHopField } from '../mail/read-tokens.ts'

export interface Marking {
  readonly recipient: AddressedAgent
  readonly agents: AgentDirectory
  readonly tokens: AddressTokens
  /** Of the address the mail came to. */
  readonly token: AddressToken | undefined
  readonly messageId: string | undefined
  /** Set when an agent elsewhere wrote it. */
  readonly agentMail: AgentMail | undefined
  readonly config: { readonly answer_bcc: boolean; readonly answer_lists: boolean }
}

/** RFC 5546 §1.4: what comes back after an invitation. */
const calendarAnswers: ReadonlySet<string> = new Set(['REPLY', 'COUNTER', 'DECLINECOUNTER'])

/** Came by a list, as far as the header tells. */
export function isListMail({ header }: Pick<ProvenMail, 'header'>): boolean {
  return matchFieldRules(header).some(mark => listMarks.has(mark))
}

/**
 * Other signs of an automatic reply: vacation notices go to the envelope sender, and have none themselves (RFC 3834 §4,
 * RFC 5230 §5).
 */
const replyMarks: ReadonlySet<string> = new Set(['auto_reply', 'silence_asked', 'bounce', 'bounce_address'])

/** Is it an automatic reply of some mailbox and nothing else, such as a report, or mail of our own? */
export function isAutoReply({ header, addresses }: ProvenMail, marks: readonly string[]): boolean {
  const isOfServer = findField(header, 'x-failed-recipients') !== undefined || isUnread(addresses.author)
  return marks.includes('auto_reply') && marks.every(mark => replyMarks.has(mark)) && !isReport(header) && !isOfServer
}

/** A report of a server about a mail (RFC 6522), as its type says. */
export function isReport(header: HeaderBlock): boolean {
  return /^multipart\/report\b/i.test(findField(header, 'content-type') ?? '')
}

const listMarks: ReadonlySet<string> = new Set(['list', 'bulk'])
/** The marks of our own mail: an agent's unasked mail also offers to end it (RFC 8058). */
const agentMarks: ReadonlySet<string> = new Set(['auto_reply', 'silence_asked', 'bulk'])

/** The reasons not to answer this mail, for one of its agents; empty when a person may have written it. */
export function findMarks(mail: ProvenMail, marking: Marking): readonly string[] {
  const { recipient, agents, token, agentMail, config } = marking
  const { header, addresses, named, covered, raw, authentication } = mail
  const names = (list: ProvenMail['addresses']['to']) =>
    list.some(mailbox => findRecipient(formatMailbox(mailbox), agents)?.agent === recipient.agent)
  const isInTo = names(named.to)
  // The signature covers neither field, or both are missing, so the addressee is unknown.
  const isBare = findField(covered, 'to') === undefined && findField(covered, 'cc') === undefined
  const marks = findAutomaticMarks({
    header,
    author: addresses.author,
    envelopeFrom: raw.envelope.from,
    isVerified: authentication.isVerified,
    isInTo,
    isAddressed: config.answer_bcc || isBare || isInTo || names(named.cc),
    isOwn: isOwnMail(mail, marking),
  })
  // People answer to the header; only machines know that address.
  const isToBounces = token?.kind === 'bounce' ? ['bounce_address'] : []
  // An invitation is a person's; the answer to one that an agent sent is for its calendar.
  const answersInvitation = mail.body.details.calendar?.some(({ method }) => calendarAnswers.has(method ?? ''))
  const isTooFar = agentMail && !agentMail.chain ? [hopFlag] : []
  // Agents declare that they are machines. They may address an agent directly; a copy is for people only.
  const isMeant = agentMail && isInTo && !marks.includes('own_mail')
  const written = isMeant ? marks.filter(mark => !agentMarks.has(mark)) : marks
  const found = [...written, ...isTooFar, ...isToBounces, ...(answersInvitation ? ['calendar_reply'] : [])]
  return config.answer_lists && authentication.isVerified ? found.filter(mark => !listMarks.has(mark)) : found
}

function isOwnMail({ header, addresses, raw }: ProvenMail, { agents, tokens, messageId }: Marking): boolean {
  const senders = [formatMailbox(addresses.author), raw.envelope.from ?? '']
  return (
    senders.some(text => findRecipient(text, agents)) ||
    fieldValues(header, hopField.toLowerCase()).some(value => tokens.isOwnHop(value)) ||
    isOwnId(messageId, agents.domain)
  )
}

/** Our Message-IDs are a response's id on our domain. */
function isOwnId(messageId: string | undefined, domain: string): boolean {
  return messageId !== undefined && /^[0-9a-f]{32}@/.test(messageId) && messageId.endsWith(`@${domain}`)
}

const present = /^/

/**
 * Header fields that mark mail which no person wrote to an agent (EM-4.1, RFC 3834 §2 and §5, RFC 2919, RFC 2369, RFC 8058). No other field is a mark: mail programs of
 * people write similar ones (Fastmail a Feedback-ID of two parts, Exchange a wish for silence).
 */
const fieldRules: readonly { readonly flag: string; readonly fields: readonly string[]; readonly pattern: RegExp }[] = [
  { flag: 'disposition_notice', fields: ['content-type'], pattern: /report-type\s*=\s*"?disposition-notification/i },
  { flag: 'feedback_report', fields: ['content-type'], pattern: /report-type\s*=\s*"?feedback-report/i },
  { flag: 'feedback_report', fields: ['subject'], pattern: /^complaint about message from \d+\.\d+\.\d+\.\d+$/i },
  { flag: 'bounce', fields: ['content-type'], pattern: /^multipart\/report\b/i },
  { flag: 'bounce', fields: ['x-failed-recipients'], pattern: present },
  { flag: 'bounce', fields: ['return-path'], pattern: /^<\s*>$/ },
  {
    flag: 'calendar_reply',
    fields: ['content-type'],
    pattern: /^text\/calendar\b.*\bmethod\s*=\s*"?(?:reply|counter)\b/i,
  },
  { flag: 'auto_reply', fields: ['auto-submitted', 'x-auto-submitted'], pattern: /^(?!no\s*(?:[;(]|$))/i },
  {
    flag: 'auto_reply',
    fields: [
      'x-autoreply',
      'x-autoreply-from',
      'x-autoreply-domain',
      'x-auto-reply-from',
      'x-auto-reply',
      'x-mail-autoreply',
      'x-autorespond',
      'x-autoresponder',
      'x-autogenerated',
      'x-auto-generated',
      'x-vacation',
      'x-loop',
    ],
    pattern: present,
  },
  { flag: 'auto_reply', fields: ['x-apple-action'], pattern: /^vacation$/i },
  { flag: 'auto_reply', fields: ['precedence', 'x-precedence'], pattern: /^auto[_-]?reply\b/i },
  {
    flag: 'auto_reply',
    fields: ['x-ms-exchange-generated-message-source'],
    pattern: /mailbox rules|antispam|journal/i,
  },
  {
    flag: 'list',
    fields: [
      'list-id',
      'list-post',
      'list-help',
      'list-subscribe',
      'list-owner',
      'list-archive',
      'mailing-list',
      'x-mailing-list',
      'x-beenthere',
      'x-mlserver',
    ],
    pattern: present,
  },
  { flag: 'bulk', fields: ['list-unsubscribe', 'list-unsubscribe-post'], pattern: present },
  { flag: 'bulk', fields: ['precedence', 'x-precedence'], pattern: /^(?:bulk|list|junk)\b/i },
  // campaign:customer:type:sender; programs of people write two parts at most.
  { flag: 'bulk', fields: ['feedback-id'], pattern: /^[^:]*:[^:]*:/ },
]

/** The flags of every rule that fits. */
export function matchFieldRules(header: HeaderBlock): string[] {
  return fieldRules
    .filter(({ fields, pattern }) => fields.some(name => fieldValues(header, name).some(value => pattern.test(value))))
    .map(({ flag }) => flag)
}

/** The input of the rules: header fields and the envelope, never the text. */
interface AutomaticFacts {
  readonly header: HeaderBlock
  readonly author: Mailbox
  /** MAIL FROM; empty for the null sender. */
  readonly envelopeFrom: string | undefined
  readonly isVerified: boolean
  /** The agent is in To. */
  readonly isInTo: boolean
  /** The agent is in To or Cc, or there is neither field. */
  readonly isAddressed: boolean
  /** Author, envelope sender, Message-ID or hop mark are of this gateway. */
  readonly isOwn: boolean
}

const daemon = /^(?:mailer-?daemon|post[-_.]?master|mail[-.]?delivery)/i

/** Local parts of mailboxes that nobody reads. */
const unread: readonly RegExp[] = [
  /^(?:no|do)[-_.]?(?:not[-_.]?)?reply/i,
  /^bounces?(?:[-+=\d]|$)/i,
  /-request$/i,
  /^owner-/i,
  /^(?:listserv|majordomo|mailman|auto-?respond(?:er)?|auto-?reply|vacation)$/i,
]

/** The facts of the envelope, the author and the addressing. */
const factRules: Readonly<Record<string, (facts: AutomaticFacts) => boolean>> = {
  own_mail: ({ isOwn }) => isOwn,
  bounce: ({ envelopeFrom, author }) =>
    envelopeFrom === '' || daemon.test(author.local) || daemon.test(envelopeFrom ?? ''),
  no_reply: ({ author }) => isUnread(author),
  silence_asked: ({ header, isInTo, isVerified }) =>
    !(isInTo && isVerified) &&
    fieldValues(header, 'x-auto-response-suppress').some(value => /\b(?:all|autoreply|oof)\b/i.test(value)),
  not_addressed: ({ isAddressed }) => !isAddressed,
}

/** Whether nobody reads that mailbox, by its name. */
export function isUnread({ local }: Pick<Mailbox, 'local'>): boolean {
  return daemon.test(local) || unread.some(pattern => pattern.test(local))
}

/** Why a message must not be answered; empty when a person may have written it. Looks at header fields only. */
function findAutomaticMarks(facts: AutomaticFacts): string[] {
  const others = Object.keys(factRules).filter(flag => factRules[flag]?.(facts))
  return [...new Set([...matchFieldRules(facts.header), ...others])]
}

/**
 * Mail of an agent elsewhere, as its own gateway declares: a proven author, and a hop field that the author's signature
 * covers.
 */
export interface AgentMail {
  /** The position in the chain; undefined when the chain is too long. */
  readonly chain: AgentChain | undefined
}

/**
 * Only a proven field counts, because others can add one to any mail. The length of the chain is the author's claim: a
 * false one only makes it shorter.
 */
export function readAgentMail(
  { header, authentication }: Pick<ProvenMail, 'header' | 'authentication'>,
  maxHops: number,
): AgentMail | undefined {
  const [value, ...others] = fieldValues(header, hopField.toLowerCase())
  const isCovered = authentication.signature?.covers.includes(hopField.toLowerCase())
  const mark = value === undefined || others.length > 0 ? undefined : parseHopField(value)
  if (!mark || !authentication.isVerified || !isCovered) return undefined
  const max_hops = Math.min(mark.maxHops ?? maxHops, maxHops)
  const { hop } = mark
  return { chain: hop > max_hops ? undefined : { hop, max_hops, is_final: hop === max_hops } }
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** No person reads an answer and writes another mail in less time. */
const swiftMs = 10_000

/** The kind of the answer. */
interface Budgeted {
  readonly agent: string
  /** A hash of the words. */
  readonly words: string
  /** Others are answered too. */
  readonly isToAll: boolean
}

/**
 * Limits that stop machines which do not declare themselves, and mail to people who never wrote: a forged author would
 * have the answers sent to a stranger.
 */
export function planBudgets(
  mail: ProvenMail,
  { agent, words, isToAll }: Budgeted,
  budgets: AnswerBudgets,
): Pick<Intake, 'quota' | 'budgets'> {
  const { addresses, authentication } = mail
  const pair = `${agent} ${formatMailbox(addresses.author).toLowerCase()}`
  const verdict = authentication.isVerified ? 'v' : 'u'
  // A sender who only claims a name must not use up the budget of its owner.
  const answers = limit(`answers ${verdict} ${pair}`, budgets.correspondent_per_hour, hourMs, 'correspondent_budget')
  const unverified = [
    limit(`unproven ${pair}`, budgets.unverified_per_day, dayMs, 'backscatter_budget'),
    limit('unproven', budgets.unverified_per_hour, hourMs, 'backscatter_budget'),
  ]
  const perThread = [
    limit('hour', budgets.thread_per_hour, hourMs, 'thread_budget'),
    limit('day', budgets.thread_per_day, dayMs, 'thread_budget'),
    limit(`said ${words}`, budgets.repeats_per_hour, hourMs, 'repeated'),
  ]
  const toAll = limit(
    `to all ${agent} ${addresses.author.domain}`,
    budgets.reply_all_per_hour,
    hourMs,
    'reply_all_budget',
  )
  return {
    quota: { turns: budgets.rapid_per_hour, withinMs: hourMs, swiftMs },
    budgets: [
      answers,
      ...perThread.map(each => ({ ...each, isPerThread: true }) as const),
      ...(authentication.isVerified ? [] : unverified),
      ...(isToAll ? [toAll] : []),
    ],
  }
}

function limit(key: string, turns: number, withinMs: number, flag: string): TurnBudget {
  return { key, turns, withinMs, flag }
}

/** The words, without the parts that differ from mail to mail. */
export function hashWords({ body }: ProvenMail): string {
  const hash = createHash('sha256').update(body.text.replace(/\s+/g, ' ').trim())
  for (const { digest } of body.files) hash.update(digest)
  return hash.digest('base64url').slice(0, 22)
}
