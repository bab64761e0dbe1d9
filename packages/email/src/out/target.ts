import { createHash } from 'node:crypto'
import type {
  Addressing,
  AgentDirectory,
  AnsweredTurn,
  BackgroundEntry,
  Channel,
  ChannelContext,
  FoundResponse,
  Json,
  NormalizedMessage,
  NormalizedResponse,
  PlannedDelivery,
  Turn,
} from '@postern/core'
import { formatAddress, hasRequirements, plainTextOf } from '@postern/core'
import { z } from 'zod'
import { alignsWithoutPolicy } from '../authenticate/alignment.ts'
import type { ProvenMail } from '../authenticate/proven-mail.ts'
import { isUnread } from '../automatic/marks.ts'
import type { Mailbox } from '../mail/addresses.ts'
import { findRecipient, formatMailbox, parseMailbox, replyAlias } from '../mail/addresses.ts'

/**
 * The data that an answer needs, stored with the message: all of it is proven or harmless, and nothing is looked up
 * again.
 */
const mailTargetSchema = z.object({
  /** The destination of answers: the author, or a Reply-To that may be used. */
  mailbox: z.string(),
  name: z.string().optional(),
  /** The further recipients (`reply_all`). */
  others: z.array(z.string()).optional(),
  subject: z.string(),
  /** Without brackets; absent when the message had none worth quoting. */
  message_id: z.string().optional(),
  references: z.array(z.string()),
  thread_topic: z.string().optional(),
  thread_index: z.string().optional(),
  /** The text after the `+` of the agent's address. */
  tag: z.string().optional(),
  /** Of the thread it belongs to. */
  scope: z.string().optional(),
  /** How many agents have passed it on, and how many may. */
  hop: z.number().int().optional(),
  max_hops: z.number().int().optional(),
  /** It gets no answer, whatever the agent says. */
  is_silent: z.boolean().optional(),
  /** It answers nothing. */
  is_letter: z.boolean().optional(),
  /** Set for one delivery: its one envelope recipient, and all others shown in To and in Cc. */
  recipient: z.string().optional(),
  also_to: z.array(z.string()).optional(),
  cc: z.array(z.string()).optional(),
  /** It is the gateway's own notice under this id, not an agent's answer. */
  notice: z.string().optional(),
  /** The recipient is this local agent: it gets the message, and no mail is sent. */
  localAgent: z.string().optional(),
})

export type MailTarget = z.infer<typeof mailTargetSchema>

/** The target as the store keeps it. */
export function packTarget(target: MailTarget): Json {
  return target as Json
}

/** Senders of other channels may have no mailbox (RFC 2606 §3). */
const unknownMailbox = 'sender@example.org'
const subjectLength = 60

/** The target of an answer to what came by another channel, as if its sender had written a mail. */
export function previewMailTarget({ sender, parts }: Pick<NormalizedMessage, 'sender' | 'parts'>): Json {
  const mailbox = parseMailbox(sender.address.replace(/^@/, ''))
  const [line = ''] = plainTextOf(parts).trim().split('\n')
  return packTarget({
    mailbox: mailbox ? formatMailbox(mailbox) : unknownMailbox,
    ...(sender.display_name && { name: sender.display_name }),
    subject: line.slice(0, subjectLength).toWellFormed(),
    references: [],
  })
}

/** An answer in the same thread that only its author is mailed; none to a program. */
export function retargetToAuthor(json: Json): Json | undefined {
  const { others, ...target } = readTarget(json)
  return target.is_silent ? undefined : packTarget(target)
}

/** @throws Error when the store hands back what no mail put there */
export function readTarget(target: Json): MailTarget {
  return mailTargetSchema.parse(target)
}

/** Further recipients an agent may name. */
const maxMentions = 20

/**
 * One delivery for each envelope recipient, all of the same message, so that each is retried and refused on its own.
 * People whom the answer mentions are in To. Agents of this gateway are shown in Cc and get the answer here, without
 * mail; on the final hop of a chain they do not (MN-8.3). An automatic reply gets no answer. `maxHops`: how many agents
 * may pass a message on to each other.
 */
export function addressMail({ turn, response }: AnsweredTurn, agents: AgentDirectory, maxHops: number): Addressing {
  const target = readTarget(turn.target)
  if (target.is_silent) return { deliveries: [], aliases: [] }
  // Requirements that only the sender may decide go to nobody else.
  if (hasRequirements(response.parts)) return addressOne(target, response, agents)
  const mentioned = readMentions({ turn, response }, target, agents)
  const isFinal = target.hop !== undefined && target.hop >= (target.max_hops ?? maxHops)
  const localAgents = isFinal ? [] : mentioned.localAgents
  const cc = [...new Set([...(target.others ?? []), ...localAgents.map(({ address }) => address)])]
  const shown = { also_to: mentioned.people, cc }
  const plan = (recipient: string, localAgent?: string): PlannedDelivery => ({
    to: recipient,
    target: packTarget({ ...target, recipient, ...shown, ...(localAgent && { localAgent }) }),
  })
  const people = new Set([target.mailbox, ...(target.others ?? []), ...mentioned.people])
  return {
    deliveries: [
      ...[...people].map(recipient => plan(recipient)),
      ...localAgents.map(({ address, agent }) => plan(address, agent)),
    ],
    aliases: [`${response.id}@${agents.domain}`, replyAlias(response.id)],
  }
}

function addressOne(target: MailTarget, { id }: NormalizedResponse, agents: AgentDirectory): Addressing {
  const { mailbox } = target
  return {
    deliveries: [{ to: mailbox, target: packTarget({ ...target, recipient: mailbox, cc: [], others: [] }) }],
    aliases: [`${id}@${agents.domain}`, replyAlias(id)],
  }
}

/**
 * People whom the answer mentions besides those it reaches anyway. People may have addresses at the domain of the
 * agents, too.
 */
function readMentions({ turn, response }: AnsweredTurn, target: MailTarget, agents: AgentDirectory) {
  const known = new Set([target.mailbox, ...(target.others ?? [])])
  const mailboxes = (response.mentions ?? []).flatMap(text => parseMailbox(text.replace(/^@/, '')) ?? [])
  const addresses = [...new Set(mailboxes.map(formatMailbox))].filter(address => !known.has(address))
  const ours = addresses
    .flatMap(address => findRecipient(address, agents)?.agent ?? [])
    .filter(agent => agent !== turn.agent)
  return {
    people: addresses.filter(address => !findRecipient(address, agents)).slice(0, maxMentions),
    localAgents: [...new Set(ours)]
      .slice(0, maxMentions)
      .map(agent => ({ agent, address: `${agent}@${agents.domain}` })),
  }
}

/** Further people an answer may go to. */
const maxOthers = 20

/**
 * The further recipients with reply_all: people in To and Cc of a mail whose signature covers both, so that strangers
 * cannot be mailed. It leaves out our own agents and addresses that nobody reads. None when there are too many: that is
 * a crowd.
 */
export function findOthers(
  { addresses, authentication, header }: ProvenMail,
  agents: AgentDirectory,
): readonly string[] {
  const { author, to, cc } = addresses
  const covers = authentication.signature?.covers ?? []
  const named = header.fields.map(({ name }) => name).filter(name => name === 'to' || name === 'cc')
  if (!authentication.isVerified || !named.every(name => covers.includes(name))) return []
  const people = [...to, ...cc].filter(mailbox => !isUnread(mailbox))
  const others = new Set(people.map(formatMailbox).filter(address => !findRecipient(address, agents)))
  others.delete(formatMailbox(author))
  return others.size > maxOthers ? [] : [...others]
}

/**
 * The participants limit the conversations that a message can join: a guessed or forwarded id opens no conversation of
 * others. Proven and unproven authors never share one. A conversation with others belongs to exactly these people.
 */
export function scopeOf({ addresses: { author }, authentication }: ProvenMail, others: readonly string[]): string {
  const people = [formatMailbox(author), ...others].toSorted().join(',')
  const name = others.length > 0 ? `group ${createHash('sha256').update(people).digest('hex')}` : people
  return authentication.isVerified ? scopeOfMailbox(name) : `u:${name}`
}

/** Conversations of this mailbox alone, proven. */
export function scopeOfMailbox(mailbox: string): string {
  return `v:${mailbox}`
}

export interface ReplyAddress {
  readonly mailbox: string
  readonly flags: readonly string[]
}

/**
 * An allowed sender must not redirect an agent's answers. Reply-To counts within the proven domain or where the
 * operator allows it, and only under the signature. Anyone can add one to a mail that they once received.
 */
export function chooseReplyAddress(
  { addresses, authentication }: ProvenMail,
  allowed: readonly string[],
): ReplyAddress {
  const { author, replyTo } = addresses
  const wanted = replyTo[0]
  if (!wanted || formatMailbox(wanted) === formatMailbox(author)) return { mailbox: formatMailbox(author), flags: [] }
  const isProven = authentication.isVerified && authentication.signature?.covers.includes('reply-to')
  const isKnown = isNear(wanted, author) || isNamedBy(wanted, allowed)
  if (isProven && isKnown && replyTo.length === 1) return { mailbox: formatMailbox(wanted), flags: [] }
  return { mailbox: formatMailbox(author), flags: ['reply_to_diverted'] }
}

function isNear({ domain }: Mailbox, author: Mailbox): boolean {
  return alignsWithoutPolicy(domain, author.domain) || alignsWithoutPolicy(author.domain, domain)
}

/** Whether a list of mailboxes and domains names it. */
export function isNamedBy(wanted: Mailbox, allowed: readonly string[]): boolean {
  const mailbox = formatMailbox(wanted).toLowerCase()
  return allowed.some(text => text.toLowerCase() === mailbox || text.replace(/^@/, '').toLowerCase() === wanted.domain)
}

interface MailBackground {
  readonly store: Pick<ChannelContext['store'], 'findResponse'>
  readonly agents: AgentDirectory
  /** Whether answers quote the message that they answer. */
  readonly isQuoting: boolean
}

/** Answers that are looked up for one message. */
const maxAnswers = 10

/**
 * A recipient of an answer in Cc, because an agent named them, may write back. They are not in the answer's thread, so
 * theirs begins with the answer, and with the answered message where it was quoted or addressed to them. Everyone who
 * is answered now must have received it. Unproven authors see nothing.
 */
export function createMailBackground({
  store,
  agents,
  isQuoting,
}: MailBackground): NonNullable<Channel['fetchBackground']> {
  return async turn => {
    const answers = await Promise.all(listAnswers(turn, agents.domain).map(id => store.findResponse(id)))
    const people = [turn.content.sender.address.replace(/^@/, ''), ...(readTarget(turn.target).others ?? [])]
    const seen = answers.flatMap(found => (found && wasSentTo(people, found) ? [found] : []))
    return seen.flatMap(found => describeAnswer(found, people, { agents, isQuoting }))
  }
}

/** Ids of our responses that a proven author's message names, oldest first. */
function listAnswers({ content, target }: Turn, domain: string): readonly string[] {
  if (!content.sender.verified) return []
  const named = [...readTarget(target).references, content.in_reply_to ?? '']
  const ours = named.flatMap(id => (id.endsWith(`@${domain}`) ? (/^[0-9a-f]{32}(?=@)/.exec(id)?.[0] ?? []) : []))
  return [...new Set(ours)].slice(-maxAnswers)
}

function wasSentTo(people: readonly string[], { response, target, via, retractedAt }: FoundResponse): boolean {
  if (via !== 'email' || retractedAt !== undefined || target === null) return false
  const { mailbox, others = [] } = readTarget(target)
  const mentioned = (response.mentions ?? []).flatMap(text => parseMailbox(text.replace(/^@/, '')) ?? [])
  const reached = new Set([mailbox, ...others, ...mentioned.map(formatMailbox)])
  return people.every(who => reached.has(who))
}

function describeAnswer(
  { response, message, agent, target }: FoundResponse,
  people: readonly string[],
  { agents, isQuoting }: Pick<MailBackground, 'agents' | 'isQuoting'>,
): readonly BackgroundEntry[] {
  const asking = readTarget(target)
  const wereAsked = people.every(who => who === asking.mailbox || asking.others?.includes(who))
  const author = { address: formatAddress({ local: agent, domain: agents.domain }) }
  const answer = { nativeId: `${response.id}@${agents.domain}`, author, parts: response.parts, at: response.created_at }
  if (!isQuoting && !wereAsked) return [answer]
  const { address, display_name } = message.sender
  const asked = {
    nativeId: message.id,
    author: { address, ...(display_name && { display_name }) },
    parts: message.parts.filter(({ kind }) => kind === 'text'),
    at: message.received_at,
  }
  return [asked, answer]
}
